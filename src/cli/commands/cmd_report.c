/* cmd_report.c - allo report: writes the page, the engine and files into one HTML file. */
#include "base/units.h"
#include "cli/common.h"
#include "cli/desktop.h"
#include "cli/show/report_output.h"
#include "page/html_report.h"
#include "report/messages.h"

#include <stdio.h>

struct report {
	struct allo_common common;
	const char *output;
	bool force, empty, open, with_source;
	unsigned redact;
	uint64_t max_size;
};

static const struct report defaults = { .max_size = ALLO_HTML_REPORT_SIZE };

#define AT(field) offsetof(struct report, field)
static const struct allo_option options[] = {
	OPT_FILE('o', "output", "FILE", output,
		 "output file; - is standard output (default: the name of the input with the "
		 "ending .html, in the current directory)"),
	OPT_SIZE(0, "max-size", "SIZE", max_size,
		 "write a report without the recording if it would be larger: with the exact curve "
		 "and a fixed set of windows (default: 20M; 0 for no limit)"),
	OPT_FLAG(0, "with-source", with_source,
		 "add the source lines of the functions (default: no source text)"),
	OPT_SET(0, "redact", "LIST", redact, allo_redactions,
		"leave out texts, any of names (of functions, threads, marks and labels), paths (of "
		"source files, programs and libraries), args (the command line) and host (also the "
		"user); functions and paths get pseudonyms"),
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
	{ "allo report --redact names,paths,args,host server.allo",
	  "a report without names, for strangers" },
	{ "allo report --empty -o open.html", "a viewer for any profile, without installation" },
	{ NULL, NULL },
};

/* `files` has room for all paths and a NULL. */
static bool find_files(const struct report *opt, char **paths, const char **files,
		       struct allo_error *err)
{
	if (opt->empty == (paths[0] != NULL))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 opt->empty ? "--empty and a file exclude each other"
					    : "name a file, or use --empty");
	if (opt->with_source && (opt->redact || opt->empty))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--with-source and --%s exclude each other",
				 opt->redact ? "redact" : "empty");
	for (size_t i = 0; paths[i]; i++) {
		files[i] = allo_common_one_file(&opt->common, paths[i], err);
		if (!files[i])
			return false;
	}
	return true;
}

/* Private texts of a report, in the order of enum allo_redacted. */
static const char *const private_texts[] = { "function names", "paths", "command line", "host" };

/* "function names, paths and host" */
static void list_texts(unsigned which, char *out, size_t room)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < 4; i++) {
		bool is_last = (which & 15) >> (i + 1) == 0;

		if (which & 1u << i)
			used += (size_t)snprintf(out + used, room - used, "%s%s",
						 used == 0 ? ""
						 : is_last ? " and "
							   : ", ",
						 private_texts[i]);
	}
}

/* Says why the report does not have the recording. */
static void explain_kind(const struct report *opt, const struct allo_html_report *report)
{
	char whole[ALLO_NUMBER_SIZE], most[ALLO_NUMBER_SIZE];

	if (report->kind == ALLO_REPORT_TOO_LARGE)
		allo_say(
			"note: with every event the report would have %s, more than %s; --max-size 0 "
			"writes it",
			allo_format_bytes(report->whole_size, whole),
			allo_format_bytes(opt->max_size, most));
	else if (report->kind == ALLO_REPORT_NO_ENGINE)
		allo_say(
			"note: this allo was built without the engine of reports; 'allo view' shows "
			"every event");
}

static const char *name_data(const struct allo_html_report *report)
{
	if (report->kind != ALLO_REPORT_WHOLE)
		return "the exact curve and fixed windows";
	return report->has_recording ? "every event" : "the profile";
}

static void present(const struct report *opt, char *path, const struct allo_html_report *report)
{
	char size[ALLO_NUMBER_SIZE], kept[80], left_out[80];

	if (strcmp(path, "-") == 0)
		return;
	list_texts(~opt->redact, kept, sizeof(kept));
	list_texts(opt->redact, left_out, sizeof(left_out));
	if (!opt->common.quiet && !opt->empty)
		allo_say("wrote %s (%s): %s%s%s%s%s%s", path, allo_format_bytes(report->size, size),
			 name_data(report), kept[0] ? ", with " : "", kept,
			 left_out[0] ? "; without " : "", left_out,
			 report->source_files > 0 ? ", and source lines" : "");
	if (!opt->common.quiet)
		explain_kind(opt, report);
	if (opt->with_source && report->source_files == 0 && report->kind == ALLO_REPORT_WHOLE)
		allo_say(
			"note: no source file was found; ALLO_SOURCE_PATH names folders to search");
	if (opt->open && allo_has_desktop())
		allo_open_window(path);
}

static bool run_report(const void *options_given, char **paths, struct allo_error *err)
{
	const struct report *opt = options_given;
	struct allo_source_options reading;
	char *name = allo_report_output_name(opt->output, paths[0]);
	const char *files[ALLO_HTML_REPORT_FILES + 1] = { NULL };
	struct allo_html_report report = { .path = name,
					   .force = opt->force,
					   .sources = paths,
					   .max_size = opt->max_size,
					   .redact = opt->redact,
					   .with_source = opt->with_source,
					   .reading = &reading };

	if (!name)
		return allo_fail_memory(err);
	if (!find_files(opt, paths, files, err) ||
	    !allo_common_source(&opt->common, &reading, err) ||
	    !allo_html_report_write(&report, files, err))
		return false;
	allo_say_missing(&report.notes);
	present(opt, name, &report);
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
		"command line and the name of the host. Source text is added by --with-source "
		"only; --redact leaves out texts. The page says what it contains.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct report),
	.defaults = &defaults,
	.files_least = 0,
	.files_most = ALLO_HTML_REPORT_FILES,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_report,
};
