#include "engine/portable_copy.h"

#include "base/defer.h"
#include "engine/store_names.h"
#include "replay/packed/pack_recording.h"
#include "replay/packed/stored_names.h"

static bool make_tables(const char *path, const struct allo_source_options *options,
			struct allo_name_tables *tables, struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	return allo_source_open(&source, path, options, err) &&
	       allo_find_names(&source, &profile, err) &&
	       allo_name_tables_of(tables, &profile, err);
}

/* The packed copy is intact, so opening it finds all gaps. */
static bool note_gaps(const char *path, struct allo_notes *notes, struct allo_error *err)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };

	if (!allo_recording_open_file(&recording, path, NULL, err))
		return false;
	allo_recording_note_gaps(&recording, notes);
	return true;
}

bool allo_portable_copy(const char *path, const char *target,
			const struct allo_source_options *options, struct allo_notes *notes,
			struct allo_error *err)
{
	ALLO_DEFER(allo_name_tables_done) struct allo_name_tables tables = { 0 };
	const struct allo_output_options output = { .replace = true };

	if (!make_tables(path, options, &tables, err))
		return false;
	/* Chunks are copied as they are, unless one is damaged: then its readable events are packed
	 * again. */
	if (!allo_recording_store_names(path, target, &output, &tables, NULL, err)) {
		if (err->code != ALLO_FORMAT)
			return false;
		*err = (struct allo_error){ 0 };
		if (!allo_recording_pack_named(path, target, &output, &tables, NULL, err))
			return false;
	}
	return note_gaps(target, notes, err);
}
