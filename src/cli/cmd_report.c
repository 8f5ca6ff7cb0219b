/* cmd_report.c - allo report: writes the page, the engine and files into one HTML file. */
#include "base/defer.h"
#include "base/units.h"
#include "cli/common.h"
#include "cli/desktop.h"
#include "cli/output_name.h"
#include "engine/portable_copy.h"
#include "page/report_page.h"
#include "profile/naming.h"
#include "report/messages.h"
#include "wasm/embedded_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A file, and the base that it is compared with: the engine of the page opens no more. */
enum { FILES_MAX = 2 };

#define SIZE_USUAL ((uint64_t)20 << 20)

struct report {
	struct allo_common common;
	const char *output;
	bool force, empty, open;
	uint64_t max_size;
};

static const struct report defaults = { .max_size = SIZE_USUAL };

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

/* The files of a report.  Recordings get a copy with the names of their frames. */
struct contents {
	struct allo_report_file files[FILES_MAX];
	char *copies[FILES_MAX]; /* names of temporary files */
	size_t count;
	struct allo_notes notes;
};

static void contents_done(struct contents *contents)
{
	for (size_t i = 0; i < FILES_MAX; i++) {
		if (contents->copies[i])
			unlink(contents->copies[i]);
		free(contents->copies[i]);
	}
}

/* Names a temporary file, which exists from then on. */
static char *name_copy(struct allo_error *err)
{
	const char *folder = getenv("TMPDIR");
	char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/allo-report-XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
		allo_fail_memory(err);
		return NULL;
	}
	fd = mkstemp(path);
	if (fd < 0) {
		allo_fail_errno(err, path, "write a copy with names");
		free(path);
		return NULL;
	}
	close(fd);
	return path;
}

static bool is_recording(const char *path, const struct allo_source_options *reading, bool *answer,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };

	if (!allo_source_open(&source, path, reading, err))
		return false;
	*answer = source.is_recording;
	return true;
}

static bool add_file(struct contents *contents, const char *path,
		     const struct allo_source_options *reading, struct allo_error *err)
{
	struct allo_report_file *file = &contents->files[contents->count];
	bool has_addresses;

	*file = (struct allo_report_file){ allo_basename(allo_text_of(path)).data, path };
	if (!is_recording(path, reading, &has_addresses, err))
		return false;
	if (has_addresses) {
		contents->copies[contents->count] = name_copy(err);
		file->path = contents->copies[contents->count];
		if (!file->path ||
		    !allo_portable_copy(path, file->path, reading, &contents->notes, err))
			return false;
	}
	contents->count++;
	return true;
}

static bool add_files(struct contents *contents, const struct report *opt, char **paths,
		      struct allo_error *err)
{
	struct allo_source_options reading;

	if (opt->empty == (paths[0] != NULL))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 opt->empty ? "--empty and a file exclude each other"
					    : "name a file, or use --empty");
	if (!allo_common_source(&opt->common, &reading, err))
		return false;
	for (size_t i = 0; paths[i]; i++) {
		const char *path = allo_common_only_file(paths[i], err);

		if (!path || !add_file(contents, path, &reading, err))
			return false;
	}
	return true;
}

static bool find_engine(struct allo_report_page *page, struct allo_error *err)
{
	page->engine = allo_embedded_engine();
	if (page->engine.len > 0)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
		  "this allo was built without the engine of reports");
	return allo_hint(err, "'allo view' needs none; to build it, install clang-19, lld-19, "
			      "wasi-libc and libclang-rt-19-dev-wasm32");
}

static bool check_size(const struct report *opt, const struct allo_output *out,
		       struct allo_error *err)
{
	uint64_t size = out->written + out->used;
	char is[ALLO_NUMBER_SIZE], most[ALLO_NUMBER_SIZE];

	if (opt->max_size == 0 || size <= opt->max_size)
		return true;
	allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "the report would have %s, more than %s",
		  allo_format_bytes(size, is), allo_format_bytes(opt->max_size, most));
	return allo_hint(err, "raise --max-size, or use 'allo view'");
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
	ALLO_DEFER(contents_done) struct contents contents = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct report *opt = options_given;
	struct allo_output_options output = { .replace = opt->force, .sources = paths };
	struct allo_report_page page = { .files = contents.files };
	ALLO_DEFER(allo_free_pointer)
	char *name = opt->output ? strdup(opt->output)
				 : allo_output_name(paths[0] ? paths[0] : "-", ".html", "open");

	if (!name)
		return allo_fail_memory(err);
	if (!find_engine(&page, err) || !add_files(&contents, opt, paths, err))
		return false;
	page.file_count = contents.count;
	if (!allo_output_open(&out, name, &output, err) ||
	    !allo_report_page_write(&page, &out, err) || !check_size(opt, &out, err) ||
	    !allo_output_finish(&out, err))
		return false;
	allo_say_missing(&contents.notes);
	present(opt, name, allo_output_size(&out));
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
	.files_most = FILES_MAX,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_report,
};
