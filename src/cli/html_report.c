#include "cli/html_report.h"

#include "base/defer.h"
#include "base/units.h"
#include "engine/portable_copy.h"
#include "page/report_page.h"
#include "profile/naming.h"
#include "wasm/embedded_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The files of a report.  Recordings get a copy with the names of their frames. */
struct contents {
	struct allo_report_file files[ALLO_HTML_REPORT_FILES];
	char *copies[ALLO_HTML_REPORT_FILES]; /* names of temporary files */
	size_t count;
};

static void contents_done(struct contents *contents)
{
	for (size_t i = 0; i < ALLO_HTML_REPORT_FILES; i++) {
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

static bool add_file(struct contents *contents, struct allo_html_report *report, const char *path,
		     struct allo_error *err)
{
	struct allo_report_file *file = &contents->files[contents->count];
	bool has_addresses;

	*file = (struct allo_report_file){ allo_basename(allo_text_of(path)).data, path };
	if (!is_recording(path, report->reading, &has_addresses, err))
		return false;
	if (has_addresses) {
		contents->copies[contents->count] = name_copy(err);
		file->path = contents->copies[contents->count];
		if (!file->path ||
		    !allo_portable_copy(path, file->path, report->reading, &report->notes, err))
			return false;
	}
	contents->count++;
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

static bool check_size(const struct allo_html_report *report, const struct allo_output *out,
		       struct allo_error *err)
{
	uint64_t size = out->written + out->used;
	char is[ALLO_NUMBER_SIZE], most[ALLO_NUMBER_SIZE];

	if (report->max_size == 0 || size <= report->max_size)
		return true;
	allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "the report would have %s, more than %s",
		  allo_format_bytes(size, is), allo_format_bytes(report->max_size, most));
	return allo_hint(err, "raise --max-size, or use 'allo view'");
}

bool allo_html_report_write(struct allo_html_report *report, char **paths, struct allo_error *err)
{
	ALLO_DEFER(contents_done) struct contents contents = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct allo_output_options output = { .replace = report->force, .sources = paths };
	struct allo_report_page page = { .files = contents.files };

	if (!find_engine(&page, err))
		return false;
	for (size_t i = 0; paths[i]; i++) {
		if (!add_file(&contents, report, paths[i], err))
			return false;
	}
	page.file_count = contents.count;
	if (!allo_output_open(&out, report->path, &output, err) ||
	    !allo_report_page_write(&page, &out, err) || !check_size(report, &out, err) ||
	    !allo_output_finish(&out, err))
		return false;
	report->size = allo_output_size(&out);
	return true;
}
