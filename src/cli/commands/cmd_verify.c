/* cmd_verify.c - allo verify: finds errors in a file, and repairs some. */
#include "base/defer.h"
#include "cli/common.h"
#include "report/messages.h"
#include "writers/writers.h"

struct verify {
	struct allo_common common;
	bool repair, force;
	const char *output;
};

#define AT(field) offsetof(struct verify, field)
static const struct allo_option options[] = {
	OPT_FLAG(0, "repair", repair,
		 "write the profile without the errors to the file that -o names"),
	OPT_FILE('o', "output", "FILE", output, "file for the repaired profile"),
	OPT_FORCE(force),
	OPT_END,
};

static const struct allo_option_group group = { "Repair", options };

static const struct allo_option_group *const groups[] = { &group, &allo_printing_group,
							  &allo_reading_group, NULL };

static const struct allo_example examples[] = {
	{ "allo verify dhat-heap.json", "list its errors and their places" },
	{ "allo verify --repair -o mended.json dhat-heap.json",
	  "add up repeated locations, so that dh_view opens it" },
	{ NULL, NULL },
};

static bool has_problem(const struct allo_notes *notes)
{
	for (enum allo_note n = 0; n < ALLO_NOTES; n++) {
		if (notes->of[n].count > 0 && allo_note_kinds[n].is_problem)
			return true;
	}
	return false;
}

static const char *fix_of(const struct allo_note_kind *kind)
{
	return !kind->is_problem     ? "not needed"
	       : kind->is_repairable ? "allo verify --repair -o NEW FILE"
				     : "not possible; record again";
}

enum { KIND, COUNT, WHAT, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[KIND] = { NULL, NULL, "kind", ALLO_CELL_TEXT },
	[COUNT] = { NULL, NULL, "count", ALLO_CELL_COUNT },
	[WHAT] = { NULL, NULL, "what", ALLO_CELL_TEXT },
};

static const struct allo_report_table table = { "notes", columns, COLUMNS };

static void list_notes(struct allo_report *report, const struct allo_notes *notes)
{
	allo_report_table(report, &table);
	for (enum allo_note n = 0; n < ALLO_NOTES; n++) {
		const struct allo_note_kind *kind = &allo_note_kinds[n];

		if (notes->of[n].count == 0)
			continue;
		allo_report_row(report);
		allo_cell_string(report, KIND, kind->name);
		allo_cell_u64(report, COUNT, notes->of[n].count);
		allo_cell_string(report, WHAT, allo_note_text(notes, n));
		if (n == ALLO_NOTE_TOTALS) {
			allo_report_field_string(report, "of", notes->totals.of);
			allo_report_field_i64(report, "stated", notes->totals.stated);
			allo_report_field_i64(report, "found", notes->totals.found);
		}
		allo_report_field_string(report, "so", kind->consequence);
		allo_report_field_bool(report, "problem", kind->is_problem);
		allo_report_field_bool(report, "repairable", kind->is_repairable);
		allo_report_field_u64(report, "line", notes->of[n].first.line);
		allo_report_field_u64(report, "byte", notes->of[n].first.byte);
	}
	allo_report_end_table(report);
}

static void put_note(struct allo_report *report, const char *file, const struct allo_notes *notes,
		     enum allo_note note)
{
	const struct allo_note_kind *kind = &allo_note_kinds[note];
	char detail[ALLO_NOTE_DETAIL], where[4200];

	allo_report_put(report, kind->is_problem ? ALLO_STYLE_RED : ALLO_STYLE_DIM, "%s:",
			notes->of[note].first.file
				? allo_format_pos(notes->of[note].first, where, sizeof(where))
				: file);
	allo_report_put(report, ALLO_STYLE_PLAIN, " %s %s%s",
			allo_report_count(report, notes->of[note].count),
			allo_note_text(notes, note), allo_note_detail(notes, note, detail));
	allo_report_end_line(report);
	allo_report_note(report, "  so:   %s", kind->consequence);
	allo_report_note(report, "  fix:  %s", fix_of(kind));
}

static void put_notes(struct allo_report *report, const char *file,
		      const struct allo_profile *profile)
{
	bool is_bad = has_problem(&profile->notes);

	for (enum allo_note n = 0; n < ALLO_NOTES; n++) {
		if (profile->notes.of[n].count > 0)
			put_note(report, file, &profile->notes, n);
	}
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s: ", file);
	allo_report_put(report, is_bad ? ALLO_STYLE_RED : ALLO_STYLE_GREEN,
			is_bad ? "has problems" : "OK");
	allo_report_put(report, ALLO_STYLE_PLAIN, ", %s profile of %s", profile->meta.format,
			allo_report_counted(report, allo_profile_sample_count(profile), "stack"));
	allo_report_end_line(report);
}

/* `failure` is NULL if the file could be read. */
static void describe(struct allo_report *report, const char *file,
		     const struct allo_profile *profile, const struct allo_error *failure)
{
	if (!failure)
		put_notes(report, file, profile);
	allo_report_field_string(report, "file", file);
	if (profile->meta.format)
		allo_report_field_string(report, "format", profile->meta.format);
	else
		allo_report_field_null(report, "format");
	allo_report_field_bool(report, "ok", !failure && !has_problem(&profile->notes));
	if (failure) {
		allo_report_field_string(report, "error", failure->message);
		allo_report_field_u64(report, "line", failure->pos.line);
		allo_report_field_u64(report, "byte", failure->pos.byte);
	}
	list_notes(report, &profile->notes);
}

static bool repair(const struct verify *opt, char **files, const struct allo_profile *profile,
		   struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error ignored = { 0 };
	const struct allo_writer *writer = allo_writer_find(profile->meta.format, &ignored);
	struct allo_output_options output = { .replace = opt->force, .sources = files };

	if (!writer) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "files of the format %s cannot be written",
			  profile->meta.format);
		return allo_hint(err, "'allo convert' writes the profile in another format");
	}
	output.packing = allo_writer_packing(writer, opt->output);
	if (!allo_output_open(&out, opt->output, &output, err) ||
	    !allo_write(writer, profile, NULL, &out, NULL, err) || !allo_output_finish(&out, err))
		return false;
	if (!opt->common.quiet)
		allo_say("wrote %s", opt->output);
	return true;
}

static bool check_options(const struct verify *opt, struct allo_error *err)
{
	if (opt->repair && !opt->output)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--repair needs -o FILE: it does not change the input");
	if (opt->output && !opt->repair)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "-o FILE is for --repair");
	return true;
}

static bool run_verify(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct verify *opt = options_given;
	struct allo_profile_request request = {
		.keep_accesses = true, .no_names = true, .describes = true, .checks_all = true
	};
	struct allo_error failure = { 0 };
	bool ok;

	if (!check_options(opt, err))
		return false;
	ok = allo_common_read(&opt->common, files[0], &request, &profile, &failure);
	if (!allo_common_report(&opt->common, &report, false, err))
		return false;
	describe(&report, files[0], &profile, ok ? NULL : &failure);
	if (!allo_common_finish(&opt->common, &report, NULL, err))
		return false;
	if (!ok && failure.code != ALLO_FORMAT) {
		*err = failure; /* says nothing about the file's content */
		return false;
	}
	if (!ok) {
		if (!opt->common.json)
			allo_say_error(&failure);
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "the file is damaged");
	}
	if (opt->repair)
		return repair(opt, files, &profile, err);
	if (has_problem(&profile.notes))
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "the file has problems");
	return true;
}

const struct allo_command allo_cmd_verify = {
	.name = "verify",
	.heading = "Transform",
	.summary = "check a file for errors, and repair it",
	.arguments = "FILE",
	.about =
		"Reads a file as strictly as the tools that read its format, and lists its errors: their "
		"place, their consequence, and whether they can be repaired. Exits with 3 if "
		"there is an error.\n\n"
		"--repair writes the profile again. It merges program points of a DHAT file that "
		"have the same stack, which DHAT's viewer refuses.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct verify),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_verify,
};
