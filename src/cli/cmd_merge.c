/* cmd_merge.c - allo merge: several profiles as one. */
#include "base/defer.h"
#include "cli/convert_job.h"
#include "report/messages.h"
#include "report/show.h"

#include <stdlib.h>
#include <sys/stat.h>

struct merge {
	struct allo_convert_options writing;
	const char *label;
};

static const struct allo_option options[] = {
	{ .name = "label",
	  .argument = "KEY",
	  .help = "keep the files apart: each stack gets a label of this key with the name of the "
		  "file that it is from, as pprof shows with -tags. Forms without labels say so",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct merge, label) },
	{ .name = "json",
	  .help = "print what was written as JSON, as doc/json.md describes it",
	  .offset = offsetof(struct merge, writing.common.json) },
	{ .name = NULL },
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
	{ "allo merge worker.*.allo -o workers.pb.gz", "all processes of a run as one profile" },
	{ "allo merge --label shard a.pb.gz b.pb.gz -o both.pb.gz",
	  "the same with a label that tells them apart" },
	{ NULL, NULL },
};

/* A file, as the system knows it. */
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

/* The same file twice counts twice, which nobody wants by chance. */
static bool tell_of_repeats(char **files, struct allo_error *err)
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

/* Numbers that are no longer what their names say. */
static void tell_of_sums(const struct allo_conversion *conversion)
{
	if (conversion->peak_sum != 0)
		allo_say_note("peak_bytes adds up the peaks of all files, which need not have been "
			      "at the same time");
	/* Of pprof's name for it the report has told already. */
	if (conversion->max_sum != 0 && !conversion->writer->names_max_inuse)
		allo_say_note("max_bytes adds up each site's own maxima, which were not held at "
			      "once");
}

static void print_json(struct allo_output *out, const struct allo_conversion *conversion)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 1 };
	struct allo_text rest, name;
	char lost[200];

	allo_show_json_begin(&json);
	allo_json_out_key(&json, "output");
	allo_json_out_string(&json, conversion->output);
	allo_json_out_key(&json, "format");
	allo_json_out_string(&json, conversion->writer->name);
	allo_json_out_member_u64(&json, "bytes", conversion->size);
	allo_json_out_member_u64(&json, "stacks", conversion->samples);
	allo_json_out_key(&json, "inputs");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; conversion->files[i]; i++)
		allo_json_out_string(&json, conversion->files[i]);
	allo_json_out_end(&json);
	allo_json_out_key(&json, "left_out");
	allo_json_out_begin(&json, '[');
	allo_holds_names(conversion->lost, lost, sizeof(lost));
	rest = allo_text_of(lost);
	while (rest.len > 0 && allo_text_next(&rest, ',', &name))
		allo_json_out_text(&json, allo_text_trim(name));
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

static bool report_json(const struct allo_conversion *conversion, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!allo_common_open_result(&out, err))
		return false;
	print_json(&out, conversion);
	return allo_output_finish(&out, err);
}

static bool run_merge(const void *options_given, char **files, struct allo_error *err)
{
	const struct merge *opt = options_given;
	const struct allo_common *common = &opt->writing.common;
	struct allo_convert_job job;

	if (!allo_convert_job_init(&job, &opt->writing, files, err))
		return false;
	job.conversion.label = opt->label;
	if (common->json && strcmp(job.conversion.output, "-") == 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "--json tells of a file, and there is none");
		return allo_hint(err, "name one with -o; --to json writes the profile as JSON");
	}
	if (opt->label && opt->label[0] == '\0')
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--label is empty");
	if (!allo_convert_job_run(&job, err))
		return false;
	if (!common->quiet) {
		allo_convert_job_report(&job);
		tell_of_sums(&job.conversion);
		if (!tell_of_repeats(files, err))
			return false;
	}
	return !common->json || report_json(&job.conversion, err);
}

const struct allo_command allo_cmd_merge = {
	.name = "merge",
	.heading = "Transform",
	.summary = "add up several profiles into one",
	.arguments = "FILE...",
	.about = "Reads profiles of any formats and writes one that has the sums: equal stacks "
		 "become one. Metrics that not all files have are kept and told of. Peaks add up "
		 "to what would have been held if all had been at once, which is an upper bound, "
		 "and so do the maxima of sites.\n\n"
		 "The output appears when it is complete, and an existing file is replaced only "
		 "with -f. A name that ends in .gz or .zst is packed.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct merge),
	.files_least = 2,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_merge,
};
