/* cmd_convert.c - allo convert: any profile in, the form you need out. */
#include "cli/convert_job.h"

#include <unistd.h>

struct convert {
	struct allo_convert_options writing;
	const char *title;
	uint64_t version;
	bool fast, strict, passthrough;
};

static const struct allo_option options[] = {
	{ .name = "fast",
	  .help = "pack less tightly, in less time",
	  .offset = offsetof(struct convert, fast) },
	{ .name = "strict",
	  .help = "fail, and write nothing, if anything would be lost",
	  .offset = offsetof(struct convert, strict) },
	{ .name = "title",
	  .argument = "TEXT",
	  .help = "title of a drawing",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct convert, title) },
	{ .name = "passthrough",
	  .help = "copy the input to standard output, too, as it is and as it comes; -o names the "
		  "file for the profile",
	  .offset = offsetof(struct convert, passthrough) },
	{ .name = "form-version",
	  .argument = "N",
	  .help = "the version of the form, where it has several",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct convert, version) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Forms", options };

static const struct allo_option_group *const groups[] = {
	&allo_convert_group, &group,
	&allo_trace_group,   &allo_view_group,
	&allo_filter_group,  &allo_symbols_group,
	&allo_reading_group, NULL,
};

static const struct allo_example examples[] = {
	{ "allo convert dhat.out.1234 -o heap.pb.gz", "a DHAT profile for go tool pprof" },
	{ "allo convert heap.pb.gz -o heap.svg --trim-allocator",
	  "a flame graph without malloc on it" },
	{ "allo convert a.pb.gz b.pb.gz -o both.pb.gz", "two profiles as one" },
	{ "allo convert heaptrack.app.1.zst --to folded -M peak | flamegraph.pl > peak.svg",
	  "what was live at the peak, drawn by somebody else" },
	{ "allo convert app.dtrace --freq 997 -o app.spall",
	  "what ran where, over time, for Spall" },
	{ NULL, NULL },
};

static bool run_convert(const void *options_given, char **files, struct allo_error *err)
{
	const struct convert *opt = options_given;
	char stdin_name[] = "-", *only_stdin[] = { stdin_name, NULL };
	struct allo_convert_job job;

	if (!files[0] && isatty(STDIN_FILENO)) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'allo convert' needs FILE...");
		return allo_hint(err, "or something to read from standard input");
	}
	if (!allo_convert_job_init(&job, &opt->writing, files[0] ? files : only_stdin, err))
		return false;
	job.conversion.write_options.title = opt->title;
	job.conversion.write_options.version = opt->version;
	job.conversion.output_options.fast = opt->fast;
	job.conversion.strict = opt->strict;
	job.passes_through = opt->passthrough;
	if (!allo_convert_job_run(&job, err))
		return false;
	if (!opt->writing.common.quiet)
		allo_convert_job_report(&job);
	return true;
}

const struct allo_command allo_cmd_convert = {
	.name = "convert",
	.heading = "Transform",
	.summary = "write a profile in another form",
	.arguments = "[FILE]...",
	.about =
		"Reads profiles of any format and writes one. Several inputs are added up; without "
		"any, standard input is read. What the form cannot hold is left out and told in "
		"one line.\n\n"
		"The output is only ever what -o names. It appears when it is complete, and an "
		"existing file is replaced only with -f. A name that ends in .gz or .zst is "
		"packed.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct convert),
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_convert,
};
