/* cmd_convert.c - allo convert: any profile in, the form you need out. */
#include "cli/convert.h"

struct convert {
	struct allo_common common;
	struct allo_list metrics;
	const char *output, *to, *title;
	bool force, fast, strict;
};

static const struct allo_option options[] = {
	{ .letter = 'o',
	  .name = "output",
	  .argument = "FILE",
	  .help = "where to write; without it, or for -, standard output",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct convert, output) },
	{ .name = "to",
	  .argument = "FORMAT",
	  .help = "the form to write; without it, the output's name decides",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_WRITERS,
	  .offset = offsetof(struct convert, to) },
	{ .letter = 'M',
	  .name = "metric",
	  .argument = "NAME",
	  .help = "write this number only; may be given several times. Forms that hold one number "
		  "take the first",
	  .kind = ALLO_OPTION_LIST,
	  .completes = ALLO_COMPLETE_METRICS,
	  .offset = offsetof(struct convert, metrics) },
	{ .letter = 'f',
	  .name = "force",
	  .help = "replace the output if it exists",
	  .offset = offsetof(struct convert, force) },
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
	{ .name = NULL },
};

static const struct allo_option_group group = { "Writing", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_view_group,
	&allo_filter_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo convert dhat.out.1234 -o heap.pb.gz", "a DHAT profile for go tool pprof" },
	{ "allo convert heap.pb.gz -o heap.svg --trim-allocator",
	  "a flame graph without malloc on it" },
	{ "allo convert a.pb.gz b.pb.gz -o both.pb.gz", "two profiles as one" },
	{ "allo convert heaptrack.app.1.zst --to folded -M peak | flamegraph.pl > peak.svg",
	  "what was live at the peak, drawn by somebody else" },
	{ NULL, NULL },
};

static bool run_convert(const void *options_given, char **files, struct allo_error *err)
{
	const struct convert *opt = options_given;
	const struct allo_writer *writer = allo_convert_writer(opt->to, opt->output, err);
	struct allo_convert convert = {
		.common = &opt->common,
		.files = files,
		.writer = writer,
		.output = opt->output ? opt->output : "-",
		.metrics = &opt->metrics,
		.write_options = { .title = opt->title },
		.may_replace = opt->force,
		.fast = opt->fast,
		.strict = opt->strict,
	};

	if (!writer || !allo_convert(&convert, err))
		return false;
	if (!opt->common.quiet)
		allo_convert_report(&convert);
	return true;
}

const struct allo_command allo_cmd_convert = {
	.name = "convert",
	.heading = "Transform",
	.summary = "write a profile in another form",
	.arguments = "FILE...",
	.about = "Reads profiles of any format and writes one. Several inputs are added up. What "
		 "the form cannot hold is left out and told in one line.\n\n"
		 "The output is only ever what -o names. It appears when it is complete, and an "
		 "existing file is replaced only with -f. A name that ends in .gz or .zst is "
		 "packed.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct convert),
	.files_least = 1,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_convert,
};
