/* cmd_report.c - allo report: writes the page, the engine and files into one HTML file. */
#include "base/defer.h"
#include "base/units.h"
#include "cli/common.h"
#include "cli/desktop.h"
#include "cli/html_report.h"
#include "cli/output_name.h"
#include "report/messages.h"

#include <stdlib.h>

struct report {
	struct allo_common common;
	const char *output;
	bool force, empty, open;
	uint64_t max_size;
};

static const struct report defaults = { .max_size = ALLO_HTML_REPORT_SIZE };

#define AT(field) offsetof(struct report, field)
static const struct allo_option options[] = {
	OPT_FILE('o', "output", "FILE", output,
		 "output file; - is standard output (default: the name of the input with the "
		 "ending .html, in the current directory)"),
	OPT_SIZE(0, "max-size", "SIZE", max_size,
		 "refuse to write a larger report (default: 20M; 0 for no limit)"),
	OPT_FLAG(0, "empty", empty,
		 "write a page without data: it shows any readable file that is dropped onto it"),
	OPT_FLAG(0, "open", open, "open the report in the browser"),
	OPT_FORCE(force),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Report", options };

static const struct allo_option_group *const groups[] = { &group, &allo_symbols_group,
							  &allo_reading_group, NULL };

static const struct allo_example examples[] = {
	{ "allo report server.allo", "write server.html, to open, send or keep" },
	{ "allo report new.allo old.allo", "compare two recordings" },
	{ "allo report --empty -o open.html", "a viewer for any profile, without installation" },
	{ NULL, NULL },
};

static bool check_files(const struct report *opt, char **paths, struct allo_error *err)
{
	if (opt->empty == (paths[0] != NULL))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 opt->empty ? "--empty and a file exclude each other"
					    : "name a file, or use --empty");
	for (size_t i = 0; paths[i]; i++) {
		paths[i] = (char *)allo_common_only_file(paths[i], err);
		if (!paths[i])
			return false;
	}
	return true;
}

static void present(const struct report *opt, char *path, uint64_t size)
{
	char text[ALLO_NUMBER_SIZE];

	if (strcmp(path, "-") == 0)
		return;
	if (!opt->common.quiet && !opt->empty)
		allo_say("wrote %s (%s): every event, with function names, paths, command line "
			 "and host",
			 path, allo_format_bytes(size, text));
	if (opt->open && allo_has_desktop())
		allo_open_window(path);
}

static bool run_report(const void *options_given, char **paths, struct allo_error *err)
{
	const struct report *opt = options_given;
	struct allo_source_options reading;
	ALLO_DEFER(allo_free_pointer)
	char *name = opt->output ? strdup(opt->output)
				 : allo_output_name(paths[0] ? paths[0] : "-", ".html", "open");
	struct allo_html_report report = {
		.path = name, .force = opt->force, .max_size = opt->max_size, .reading = &reading
	};

	if (!name)
		return allo_fail_memory(err);
	if (!check_files(opt, paths, err) || !allo_common_source(&opt->common, &reading, err) ||
	    !allo_html_report_write(&report, paths, err))
		return false;
	allo_say_missing(&report.notes);
	present(opt, name, report.size);
	return true;
}

const struct allo_command allo_cmd_report = {
	.name = "report",
	.heading = "Look",
	.summary = "write a page with data that opens in any browser",
	.arguments = "[FILE [BASE]]",
	.about =
		"Writes one HTML file with the page of 'allo view', its engine and the data. It opens "
		"from a disk, a mail or the page of a CI run, needs no server, and makes no "
		"requests. A recording keeps its exact time axis. With a second file, the report "
		"compares the first with it.\n\n"
		"The file contains every event, names of functions, paths of source files, the "
		"command line and the name of the host.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct report),
	.defaults = &defaults,
	.files_least = 0,
	.files_most = ALLO_HTML_REPORT_FILES,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_report,
};
