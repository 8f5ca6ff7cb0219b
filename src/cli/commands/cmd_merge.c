/* cmd_merge.c - allo merge: the sum of several profiles. */
#include "base/defer.h"
#include "cli/convert_job.h"
#include "report/messages.h"

#include <stdlib.h>
#include <sys/stat.h>

struct merge {
	struct allo_convert_options writing;
	const char *label;
};

#define AT(field) offsetof(struct merge, field)
static const struct allo_option options[] = {
	OPT_TEXT(0, "label", "KEY", label,
		 "label each stack with the name of its file, under this key, as pprof -tags shows "
		 "it. A note says so if the format has no labels"),
	OPT_FLAG(0, "json", writing.common.json,
		 "print a summary as JSON, as doc/json.md describes it"),
	OPT_END,
};

static const struct allo_option_group group = { "Merging", options };

static const struct allo_option_group *const groups[] = {
	&allo_convert_group,
	&group,
	&allo_view_group,
	&allo_stack_filter_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo merge worker.*.allo -o workers.pb.gz", "the sum of all processes of a run" },
	{ "allo merge --label shard a.pb.gz b.pb.gz -o both.pb.gz",
	  "the same, with a label for each file" },
	{ NULL, NULL },
};

/* Identifies a file. */
struct identity {
	dev_t device;
	ino_t number;
	const char *name;
};

static int compare_identities(const void *a, const void *b)
{
	const struct identity *x = a, *y = b;
	int order = (x->device > y->device) - (x->device < y->device);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* A file that is given twice counts twice, which may be a mistake. */
static bool note_repeats(char **files, struct allo_error *err)
{
	ALLO_VEC(struct identity) known = { 0 };
	bool ok = true;

	for (; *files && ok; files++) {
		struct stat status;
		struct identity identity = { .name = *files };

		if (strcmp(*files, "-") == 0 || stat(*files, &status) != 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		identity.device = status.st_dev;
		identity.number = status.st_ino;
		ok = allo_vec_append(&known, &identity, 1);
	}
	if (known.len > 0)
		qsort(known.at, known.len, sizeof(*known.at), compare_identities);
	for (size_t i = 1; i < known.len; i++) {
		if (compare_identities(&known.at[i - 1], &known.at[i]) == 0)
			allo_say_note("%s is the same file as %s: its numbers count again",
				      known.at[i].name, known.at[i - 1].name);
	}
	allo_vec_done(&known);
	return ok || allo_fail_memory(err);
}

/* A sum of maxima is no longer a maximum, although its metric keeps the name. */
static void note_sums(const struct allo_conversion *conversion)
{
	if (conversion->peak_sum != 0)
		allo_say_note(
			"peak_bytes is the sum of the peaks of all files, which need not have "
			"been at the same time");
	/* allo_convert_job_report() has a note on pprof's name for it. */
	if (conversion->max_sum != 0 && !conversion->max_is_inuse)
		allo_say_note(
			"max_bytes is the sum of each site's own maxima, which were not held at "
			"once");
}

static void describe(struct allo_report *report, const struct allo_conversion *conversion)
{
	struct allo_text rest, name;
	char lost[200];

	allo_report_field_string(report, "output", conversion->output);
	allo_report_field_string(report, "format", conversion->writer->name);
	allo_report_field_u64(report, "bytes", conversion->size);
	allo_report_field_u64(report, "stacks", conversion->samples);
	allo_report_list(report, "inputs");
	for (size_t i = 0; conversion->files[i]; i++)
		allo_report_field_string(report, NULL, conversion->files[i]);
	allo_report_close(report);
	allo_report_list(report, "left_out");
	allo_holds_names(conversion->lost, lost, sizeof(lost));
	rest = allo_text_of(lost);
	while (rest.len > 0 && allo_text_next(&rest, ',', &name))
		allo_report_field_name(report, NULL, allo_text_trim(name));
	allo_report_close(report);
}

/* Messages describe the result to people. */
static bool print_json(const struct allo_common *common, const struct allo_conversion *conversion,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };

	if (!allo_common_report(common, &report, false, err))
		return false;
	allo_report_json_lines(&report, 1);
	describe(&report, conversion);
	return allo_common_finish(common, &report, NULL, err);
}

static bool run_merge(const void *options_given, char **files, struct allo_error *err)
{
	const struct merge *opt = options_given;
	const struct allo_common *common = &opt->writing.common;
	struct allo_convert_job job;

	if (!allo_convert_job_init(&job, &opt->writing, files, err))
		return false;
	if (!job.conversion.files[1])
		return allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = files[0] },
				 "one file is nothing to merge");
	job.conversion.label = opt->label;
	if (common->json && strcmp(job.conversion.output, "-") == 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "--json describes the output file, and there is none");
		return allo_hint(err, "name one with -o; --to json writes the profile as JSON");
	}
	if (opt->label && opt->label[0] == '\0')
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--label is empty");
	if (!allo_convert_job_run(&job, err))
		return false;
	if (!common->quiet) {
		allo_convert_job_report(&job);
		note_sums(&job.conversion);
		if (!note_repeats(job.conversion.files, err))
			return false;
	}
	return !common->json || print_json(common, &job.conversion, err);
}

const struct allo_command allo_cmd_merge = {
	.name = "merge",
	.heading = "Transform",
	.summary = "add up several profiles into one",
	.arguments = "FILE...",
	.about = "Reads profiles of any format and writes their sum: equal stacks become one. A "
		 "metric that only some files have is kept, and a note says so. The sum of the "
		 "peaks is an upper bound: the peaks need not have been at the same time. So is "
		 "the sum of the maxima of a call site.\n\n"
		 "The file appears when it is complete; -f replaces an existing one. If its name "
		 "ends in .gz or .zst, it is compressed.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct merge),
	.files_least = 1,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_merge,
};
