/* cmd_convert.c - allo convert: reads any profile and writes it in another format. */
#include "cli/convert_job.h"

#include <unistd.h>

struct convert {
	struct allo_convert_options writing;
	const char *title;
	uint64_t version;
	bool fast, live, no_command, passthrough;
};

#define AT(field) offsetof(struct convert, field)
static const struct allo_option options[] = {
	OPT_FLAG(0, "fast", fast, "compress faster and less"),
	OPT_FLAG(
		0, "live", live,
		"the recorded program still runs: formats of live memory (pprof, gperftools) get its "
		"heap, as 'allo snapshot' writes it; other formats get the recording so far"),
	OPT_FLAG(0, "no-command", no_command,
		 "leave out the program's command, whose arguments may contain secrets"),
	OPT_TEXT(0, "title", "TEXT", title, "title of a drawing"),
	OPT_FLAG(
		0, "passthrough", passthrough,
		"also copy the input to standard output, unchanged and as it arrives; -o names the "
		"file for the profile"),
	OPT_COUNT(0, "format-version", "N", version,
		  "version of the output format, for formats that have several"),
	OPT_END,
};

static const struct allo_option_group group = { "Format", options };

static const struct allo_option_group *const groups[] = {
	&allo_convert_group,
	&group,
	&allo_view_group,
	&allo_filter_group,
	&allo_site_group,
	&allo_symbols_group,
	&allo_trace_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo convert dhat.out.1234 -o heap.pb.gz", "a DHAT profile for go tool pprof" },
	{ "allo convert heap.pb.gz -o heap.svg --trim-allocator",
	  "a flame graph without malloc on it" },
	{ "allo convert a.pb.gz b.pb.gz -o both.pb.gz", "the sum of two profiles" },
	{ "allo convert heaptrack.app.1.zst --to folded -M peak | flamegraph.pl > peak.svg",
	  "the memory live at the peak, drawn by flamegraph.pl" },
	{ "allo convert app.allo -o app.parquet", "tables for DuckDB, ClickHouse or pandas" },
	{ "allo convert app.dtrace --freq 997 -o app.spall", "stacks over time, for Spall" },
	{ NULL, NULL },
};

static bool run_convert(const void *options_given, char **files, struct allo_error *err)
{
	const struct convert *opt = options_given;
	static char stdin_name[] = "-"; /* an error may refer to it */
	char *only_stdin[] = { stdin_name, NULL };
	const struct allo_view now = { .at = ALLO_AT_NOW };
	struct allo_common common = opt->writing.common;
	struct allo_convert_job job;

	if (!files[0] && isatty(STDIN_FILENO)) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'allo convert' needs FILE...");
		return allo_hint(err, "or pipe a profile to its standard input");
	}
	if (!allo_convert_job_init(&job, &opt->writing, files[0] ? files : only_stdin, err))
		return false;
	job.conversion.write_options.title = opt->title;
	job.conversion.write_options.version = opt->version;
	job.conversion.output_options.fast = opt->fast;
	job.conversion.no_command = opt->no_command;
	job.conversion.strict = common.strict;
	if (opt->live && job.conversion.writer->shows_live)
		common.view = &now;
	job.common = &common;
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
	.summary = "convert a profile to another format",
	.arguments = "[FILE]...",
	.about =
		"Reads profiles of any format and writes one. Several inputs are added up; without "
		"inputs, it reads standard input. Data that the output format cannot hold is left "
		"out, and a note says so; --strict makes that an error, too.\n\n"
		"It writes only to the file or folder that -o names, which appears when it is complete; "
		"-f replaces an existing one. If its name ends in .gz or .zst, it is compressed.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct convert),
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_convert,
};
