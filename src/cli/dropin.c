/* dropin.c - dhat-pprof, rheaper and dtrace2spall: their options, as conversions. */
#include "cli/dropin.h"

#include "cli/convert_job.h"
#include "report/messages.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char dhat_pprof_usage[] =
	"Usage: dhat-pprof [INPUT [OUTPUT]]\n"
	"\n"
	"Converts a DHAT profile to the pprof format. - is standard input or output.\n"
	"(defaults: dhat-heap.json, dhat-heap.pb.gz)\n"
	"\n"
	"This is allo(1), which does more: see 'allo help convert'.\n";

static bool asks_for_help(char **arguments)
{
	return arguments[0] &&
	       (strcmp(arguments[0], "-h") == 0 || strcmp(arguments[0], "--help") == 0);
}

static bool run_dhat_pprof(char **arguments, struct allo_error *err)
{
	static char usual_input[] = "dhat-heap.json"; /* an error may refer to it */
	char *files[] = { arguments[0] ? arguments[0] : usual_input, NULL };
	const char *output = arguments[0] && arguments[1] ? arguments[1] : "dhat-heap.pb.gz";
	struct allo_common common = { .from = "dhat" };
	struct allo_convert_job job = {
		.common = &common,
		.conversion = { .files = files,
				.writer = allo_writer_find("pprof", err),
				.output = output,
				.output_options.replace = true,
				.counts_frames = true },
	};
	/* Messages must not mix with a profile on standard output. */
	FILE *to = strcmp(output, "-") == 0 ? stderr : stdout;

	if (asks_for_help(arguments)) {
		fputs(dhat_pprof_usage, stdout);
		return true;
	}
	fprintf(to, "Reading DHAT profile from: %s\n", files[0]);
	fflush(to); /* before an error on standard error */
	if (!allo_convert_job_run(&job, err))
		return false;
	fprintf(to,
		"Generated pprof profile with:\n  %llu samples\n  %llu locations\n  %llu "
		"functions\n",
		(unsigned long long)job.conversion.samples,
		(unsigned long long)job.conversion.frames,
		(unsigned long long)job.conversion.functions);
	fprintf(to,
		"Wrote pprof profile to: %s\n\nView it with:\n  go tool pprof -top %s\n"
		"  go tool pprof -http=:8080 %s\n",
		output, output, output);
	fflush(to);
	allo_say_notes(&job.conversion.notes);
	allo_note_max(&job.conversion);
	return true;
}

static const char rheaper_usage[] =
	"Usage: rheaper <PROFILE_DATA> <ANALYZED_DB>\n"
	"\n"
	"Converts a recording of rheaper (a directory rip-...) or of allo (rip-....allo) to a\n"
	"SQLite database. Its views allocations and backtraces have the columns of rheaper's\n"
	"tables.\n"
	"\n"
	"This is allo(1), which does more: see 'allo help convert' and 'allo help sql'.\n";

static bool is_folder(const char *path)
{
	struct stat status;

	return path && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool run_rheaper(char **arguments, struct allo_error *err)
{
	char *files[] = { arguments[0], NULL };
	/* A file is recognised by its content: an archive of rheaper, or a recording that its
	 * functions in our Rust library made. */
	struct allo_common common = { .from = is_folder(arguments[0]) ? "rheaper" : NULL };
	struct allo_convert_job job = {
		.common = &common,
		.conversion = { .files = files, .writer = allo_writer_find("sqlite", err) },
	};

	if (asks_for_help(arguments)) {
		fputs(rheaper_usage, stdout);
		return true;
	}
	if (!arguments[0] || !arguments[1] || arguments[2]) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "expected a recording and a database");
		return allo_hint(err, "rheaper rip-1700000000 profile.db");
	}
	job.conversion.output = arguments[1];
	if (access(arguments[1], F_OK) == 0) {
		allo_fail(err, ALLO_IO, (struct allo_pos){ .file = arguments[1] },
			  "exists and was not overwritten");
		return allo_hint(err, "remove it, or choose another name");
	}
	if (!allo_convert_job_run(&job, err))
		return false;
	allo_convert_job_report(&job);
	return true;
}

static const char dtrace2spall_usage[] =
	"Usage: dtrace2spall [flags]\n"
	"\n"
	"Converts stacks printed by DTrace, from standard input, to the Spall format.\n"
	"\n"
	"      --fields strings   columns before each stack, separated by commas: timestamp,\n"
	"                         pid, tid, execname, cpu, or - to skip one\n"
	"  -f, --freq int         samples per second (default 1000)\n"
	"  -h, --help             show this help\n"
	"      --json             write a Chrome trace instead\n"
	"  -o, --out string       output file, - for standard output (default \"-\")\n"
	"      --passthrough      copy the input to standard output; needs --out\n"
	"\n"
	"This is allo(1), which does more: see 'allo help convert'.\n";

struct dtrace2spall {
	struct allo_common common;
	const char *output;
	bool json, passthrough;
};

#define AT(field) offsetof(struct dtrace2spall, field)
static const struct allo_option dtrace2spall_options[] = {
	OPT_TEXT(0, "fields", "NAMES", common.fields, NULL),
	OPT_COUNT('f', "freq", "HZ", common.frequency, NULL),
	OPT_FLAG(0, "json", json, NULL),
	OPT_TEXT('o', "out", "FILE", output, NULL),
	OPT_FLAG(0, "passthrough", passthrough, NULL),
	OPT_END,
};
static const struct allo_option_group dtrace2spall_group = { "Flags", dtrace2spall_options };
static const struct allo_option_group *const dtrace2spall_groups[] = { &dtrace2spall_group, NULL };

static const struct allo_command dtrace2spall_command = {
	.name = "dtrace2spall",
	.is_program = true,
	.groups = dtrace2spall_groups,
	.files_most = (size_t)-1, /* that program ignores them */
};

static bool run_dtrace2spall(char **arguments, struct allo_error *err)
{
	static char input[] = "-"; /* an error may refer to it */
	char *files[] = { input, NULL };
	struct dtrace2spall opt = { .common = { .from = "dtrace" }, .output = "-" };
	struct allo_convert_job job = {
		.common = &opt.common,
		.conversion = { .files = files, .output_options.replace = true },
	};

	if (allo_options_ask_for_help(&dtrace2spall_command, arguments)) {
		fputs(dtrace2spall_usage, stdout);
		return true;
	}
	if (!allo_options_parse(&dtrace2spall_command, arguments, &opt, err))
		return false;
	job.conversion.output = opt.output;
	job.passes_through = opt.passthrough;
	job.conversion.writer = allo_writer_find(opt.json ? "chrome-trace" : "spall", err);
	if (!job.conversion.writer || !allo_convert_job_run(&job, err))
		return false;
	allo_say_notes(&job.conversion.notes);
	return true;
}

static const struct allo_dropin dropins[] = {
	{ "dhat-pprof", run_dhat_pprof },
	{ "dtrace2spall", run_dtrace2spall },
	{ "rheaper", run_rheaper },
	{ NULL, NULL },
};

const struct allo_dropin *allo_dropin_find(struct allo_text name)
{
	for (const struct allo_dropin *dropin = dropins; dropin->name; dropin++) {
		if (allo_text_equal(name, allo_text_of(dropin->name)))
			return dropin;
	}
	return NULL;
}
