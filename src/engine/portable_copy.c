#include "engine/portable_copy.h"

#include "base/defer.h"
#include "engine/store_names.h"
#include "replay/packed/pack_recording.h"
#include "writers/writers.h"

static bool make_tables(const char *path, const struct allo_source_options *options,
			struct allo_redactor *redactor, struct allo_name_tables *tables,
			struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	if (!allo_source_open(&source, path, options, err) ||
	    !allo_find_names(&source, &profile, err))
		return false;
	if (redactor && (!allo_redactor_learn(redactor, &source.recording, err) ||
			 !allo_redactor_change_profile(redactor, &profile, err)))
		return false;
	return allo_name_tables_of(tables, &profile, err);
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

static bool copy_named(const char *path, const char *target, const struct allo_name_tables *tables,
		       struct allo_error *err)
{
	const struct allo_output_options output = { .replace = true };

	/* Chunks are copied as they are, unless one is damaged: then its readable events are packed
	 * again.  An index would double the size of a report. */
	if (allo_recording_store_names(path, target, &output, tables, 0, NULL, err))
		return true;
	if (err->code != ALLO_FORMAT)
		return false;
	*err = (struct allo_error){ 0 };
	return allo_recording_pack_named(path, target, &output, tables, NULL, err);
}

bool allo_portable_copy(const char *path, const char *target,
			const struct allo_source_options *options, struct allo_redactor *redactor,
			struct allo_notes *notes, struct allo_error *err)
{
	ALLO_DEFER(allo_name_tables_done) struct allo_name_tables tables = { 0 };
	struct allo_text_change change;

	if (!make_tables(path, options, redactor, &tables, err) ||
	    !copy_named(path, target, &tables, err))
		return false;
	if (redactor) {
		change = allo_redactor_change(redactor);
		if (!allo_recording_redact(target, target, &change, &tables, err))
			return false;
	}
	return note_gaps(target, notes, err);
}

bool allo_redacted_profile(const char *path, const char *target,
			   const struct allo_source_options *options,
			   struct allo_redactor *redactor, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct allo_output_options output = { .replace = true };
	const struct allo_writer *pprof = allo_writer_find("pprof", err);

	return pprof && allo_read_profile(path, options, NULL, &profile, err) &&
	       allo_redactor_change_profile(redactor, &profile, err) &&
	       allo_output_open(&out, target, &output, err) &&
	       allo_write(pprof, &profile, NULL, &out, NULL, err) && allo_output_finish(&out, err);
}
