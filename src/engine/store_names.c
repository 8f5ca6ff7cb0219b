#include "engine/store_names.h"

#include "base/defer.h"
#include "replay/packed/stored_names.h"
#include "replay/recording/recording_stacks.h"

#include <string.h>

/* The recorded program may still write to a raw file: it must keep its name. */
static bool check_place(const struct allo_recording *recording, const char *target,
			struct allo_error *err)
{
	if (strcmp(recording->name, target) != 0 || recording->is_packed ||
	    recording->head.end != ALLO_END_NONE)
		return true;
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = recording->name },
		  "is not closed: the program may still write to it");
	return allo_hint(err, "name another file with -o");
}

/* Stored names with lines stay.  Others are looked up again, and stay if nothing better than an
 * offset is found. */
bool allo_find_names(struct allo_source *source, struct allo_profile *profile,
		     struct allo_error *err)
{
	struct allo_source_options names = source->options, offsets = source->options;
	ALLO_DEFER(allo_free_pointer) allo_stack_id *stacks = NULL;
	struct allo_recording *recording = &source->recording;

	names.symbols.has_no_offsets = true;
	offsets.host = NULL; /* has been told everything by then */
	recording->leaves_addresses = true;
	profile->meta.has_addresses = source->reader->has_addresses;
	return allo_profile_from_stacks(profile, recording, &stacks, err) &&
	       allo_stored_names_use(recording, profile, ALLO_STORED_WITH_LINES, err) &&
	       allo_add_names(&names, profile, NULL, err) &&
	       allo_stored_names_use(recording, profile, ALLO_STORED_ALL, err) &&
	       allo_add_names(&offsets, profile, NULL, err);
}

static bool make_tables(const char *path, const char *target,
			const struct allo_source_options *options, struct allo_name_tables *tables,
			struct allo_stored_frames *stored, struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	if (!allo_source_open_recording(&source, path, options, "frames without names", err) ||
	    !check_place(&source.recording, target, err) ||
	    !allo_find_names(&source, &profile, err) || !allo_name_tables_of(tables, &profile, err))
		return false;
	*stored = (struct allo_stored_frames){ profile.frames.len > 0 ? profile.frames.len - 1 : 0,
					       tables->frames, tables->with_line };
	return true;
}

bool allo_store_names(const char *path, const char *target,
		      const struct allo_source_options *options,
		      const struct allo_output_options *output, struct allo_stored_frames *stored,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_name_tables_done) struct allo_name_tables tables = { 0 };

	return make_tables(path, target, options, &tables, stored, err) &&
	       allo_recording_store_names(path, target, output, &tables, ALLO_COPY_INDEX, NULL,
					  err);
}
