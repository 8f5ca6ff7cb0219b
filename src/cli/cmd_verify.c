/* cmd_verify.c - allo verify: is a file what it claims to be, and if not, why. */
#include "base/defer.h"
#include "cli/common.h"
#include "report/messages.h"
#include "report/show.h"
#include "writers/writers.h"

struct verify {
	struct allo_common common;
	bool repair, force;
	const char *output;
};

static const struct allo_option options[] = {
	{ .name = "repair",
	  .help = "write the profile again, without what was wrong, to the file that -o names",
	  .offset = offsetof(struct verify, repair) },
	{ .letter = 'o',
	  .name = "output",
	  .argument = "FILE",
	  .help = "where to write the repaired profile",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct verify, output) },
	{ .letter = 'f',
	  .name = "force",
	  .help = "replace the output if it exists",
	  .offset = offsetof(struct verify, force) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Repair", options };

static const struct allo_option_group *const groups[] = { &group, &allo_printing_group,
							  &allo_reading_group, NULL };

static const struct allo_example examples[] = {
	{ "allo verify dhat-heap.json", "say what is wrong with it, and where" },
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

static void print_text(struct allo_output *out, const struct allo_style *style, const char *file,
		       const struct allo_profile *profile)
{
	char count[ALLO_NUMBER_SIZE], detail[ALLO_NOTE_DETAIL], where[4200];
	size_t stacks = allo_profile_sample_count(profile);
	bool is_bad = has_problem(&profile->notes);

	for (enum allo_note n = 0; n < ALLO_NOTES; n++) {
		const struct allo_note_kind *kind = &allo_note_kinds[n];

		if (profile->notes.of[n].count == 0)
			continue;
		allo_output_printf(
			out, "%s%s:%s %s %s%s\n", kind->is_problem ? style->red : style->dim,
			profile->notes.of[n].first.file
				? allo_format_pos(profile->notes.of[n].first, where, sizeof(where))
				: file,
			style->reset, allo_format_count(profile->notes.of[n].count, count),
			allo_note_text(&profile->notes, n),
			allo_note_detail(&profile->notes, n, detail));
		allo_output_printf(out, "  so:   %s\n  fix:  %s\n", kind->consequence,
				   !kind->is_problem     ? "not needed"
				   : kind->is_repairable ? "allo verify --repair -o NEW FILE"
							 : "not possible; record again");
	}
	allo_output_printf(out, "%s: %s%s%s, %s profile of %s stack%s\n", file,
			   is_bad ? style->red : style->green, is_bad ? "not in order" : "in order",
			   style->reset, profile->meta.format, allo_format_count(stacks, count),
			   stacks == 1 ? "" : "s");
}

static void print_json_totals(struct allo_json_out *json, const struct allo_totals *totals)
{
	allo_json_out_key(json, "of");
	allo_json_out_string(json, totals->of);
	allo_json_out_key(json, "stated");
	allo_json_out_i64(json, totals->stated);
	allo_json_out_key(json, "found");
	allo_json_out_i64(json, totals->found);
}

static void print_json(struct allo_output *out, const char *file,
		       const struct allo_profile *profile, const struct allo_error *failure)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };

	allo_show_json_begin(&json);
	allo_json_out_key(&json, "file");
	allo_json_out_string(&json, file);
	allo_json_out_key(&json, "format");
	if (profile->meta.format)
		allo_json_out_string(&json, profile->meta.format);
	else
		allo_json_out_null(&json);
	allo_json_out_key(&json, "ok");
	allo_json_out_bool(&json, !failure && !has_problem(&profile->notes));
	if (failure) {
		allo_json_out_key(&json, "error");
		allo_json_out_string(&json, failure->message);
		allo_json_out_key(&json, "line");
		allo_json_out_u64(&json, failure->pos.line);
		allo_json_out_key(&json, "byte");
		allo_json_out_u64(&json, failure->pos.byte);
	}
	allo_json_out_key(&json, "notes");
	allo_json_out_begin(&json, '[');
	for (enum allo_note n = 0; n < ALLO_NOTES; n++) {
		if (profile->notes.of[n].count == 0)
			continue;
		allo_json_out_begin(&json, '{');
		allo_json_out_key(&json, "kind");
		allo_json_out_string(&json, allo_note_kinds[n].name);
		allo_json_out_key(&json, "count");
		allo_json_out_u64(&json, profile->notes.of[n].count);
		allo_json_out_key(&json, "what");
		allo_json_out_string(&json, allo_note_text(&profile->notes, n));
		if (n == ALLO_NOTE_TOTALS)
			print_json_totals(&json, &profile->notes.totals);
		allo_json_out_key(&json, "so");
		allo_json_out_string(&json, allo_note_kinds[n].consequence);
		allo_json_out_key(&json, "problem");
		allo_json_out_bool(&json, allo_note_kinds[n].is_problem);
		allo_json_out_key(&json, "repairable");
		allo_json_out_bool(&json, allo_note_kinds[n].is_repairable);
		allo_json_out_key(&json, "line");
		allo_json_out_u64(&json, profile->notes.of[n].first.line);
		allo_json_out_key(&json, "byte");
		allo_json_out_u64(&json, profile->notes.of[n].first.byte);
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

static bool repair(const struct verify *opt, const struct allo_profile *profile,
		   struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error ignored = { 0 };
	const struct allo_writer *writer = allo_writer_find(profile->meta.format, &ignored);
	struct allo_output_options output = { .replace = opt->force };

	if (!writer) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "files of the format %s cannot be written",
			  profile->meta.format);
		return allo_hint(err, "'allo convert' writes other forms of what could be read");
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
				 "--repair needs -o FILE: the input is left as it is");
	if (opt->output && !opt->repair)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "-o FILE is for --repair");
	return true;
}

static bool run_verify(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct verify *opt = options_given;
	struct allo_profile_request request = { .keep_accesses = true, .no_names = true };
	struct allo_style style = allo_common_style(&opt->common);
	struct allo_error failure = { 0 };
	bool ok;

	if (!check_options(opt, err))
		return false;
	ok = allo_common_read(&opt->common, files[0], &request, &profile, &failure);
	if (!allo_common_begin(&opt->common, &out, err))
		return false;
	if (opt->common.json)
		print_json(&out, files[0], &profile, ok ? NULL : &failure);
	else if (ok)
		print_text(&out, &style, files[0], &profile);
	if (!allo_common_end(&opt->common, &out, NULL, err))
		return false;
	if (!ok && failure.code != ALLO_FORMAT) {
		*err = failure; /* nothing has been found out about the file */
		return false;
	}
	if (!ok) {
		if (!opt->common.json)
			allo_say_error(&failure);
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "the file is damaged");
	}
	if (opt->repair)
		return repair(opt, &profile, err);
	if (has_problem(&profile.notes))
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "the file is not in order");
	return true;
}

const struct allo_command allo_cmd_verify = {
	.name = "verify",
	.heading = "Transform",
	.summary = "check a file; repair what can be repaired",
	.arguments = "FILE",
	.about = "Reads a file as strictly as its format's own consumers do and says what is "
		 "wrong with it, where, what follows from that, and whether it can be mended. "
		 "Exits with 3 if anything is wrong.\n\n"
		 "--repair writes the profile again: program points of a DHAT file with the same "
		 "stack, which DHAT's viewer refuses, become one.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct verify),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_verify,
};
