/* html_report.c - measures the files, chooses the kind of the report, and writes it. */
#include "page/html_report.h"

#include "base/defer.h"
#include "base/encoding/json_write.h"
#include "base/units.h"
#include "engine/portable_copy.h"
#include "page/report_page.h"
#include "page/report_series.h"
#include "page/report_source.h"
#include "profile/naming.h"
#include "wasm/embedded_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The files of a report.  Recordings get a copy with the names of their frames. */
struct contents {
	struct allo_report_file files[ALLO_HTML_REPORT_FILES];
	char *copies[ALLO_HTML_REPORT_FILES]; /* names of temporary files */
	/* The files that replies are about: the caches know a packed recording, but not its copy.
	 */
	struct allo_report_file asked[ALLO_HTML_REPORT_FILES];
	size_t count;
	struct allo_redactor redactor;
	struct allo_source_spans spans;
	struct allo_output source;    /* JSON: source lines */
	struct allo_output statement; /* JSON: what the report contains */
	struct allo_output replies;   /* of a series report */
};

static void contents_done(struct contents *contents)
{
	for (size_t i = 0; i < ALLO_HTML_REPORT_FILES; i++) {
		if (contents->copies[i])
			unlink(contents->copies[i]);
		free(contents->copies[i]);
	}
	allo_redactor_done(&contents->redactor);
	allo_source_spans_done(&contents->spans);
	allo_output_drop(&contents->source);
	allo_output_drop(&contents->statement);
	allo_output_drop(&contents->replies);
}

/* Names a temporary file, which exists from then on. */
static char *name_copy(struct allo_error *err)
{
	const char *folder = getenv("TMPDIR");
	char *path = NULL;
	int fd;

	if (!folder || !*folder)
		folder = "/tmp";
	if (asprintf(&path, "%s/allo-report-XXXXXX", folder) < 0) {
		allo_fail_memory(err);
		return NULL;
	}
	fd = mkstemp(path);
	if (fd < 0) {
		free(path);
		allo_fail_errno(err, folder, "write a copy with names there");
		allo_hint(err, "set TMPDIR to a directory that can be written to");
		return NULL;
	}
	close(fd);
	return path;
}

static bool inspect(const char *path, const struct allo_source_options *reading, bool *is_recording,
		    bool *is_packed, struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };

	if (!allo_source_open(&source, path, reading, err) ||
	    !allo_source_check_events(&source, err))
		return false;
	*is_recording = source.is_recording;
	*is_packed = source.is_recording && source.recording.is_packed;
	return true;
}

/* The name of a file tells the program and its place. */
static const char *shown_name(const struct contents *contents, const char *path)
{
	static const char *const plain[ALLO_HTML_REPORT_FILES] = { "recording", "base" };

	if (contents->redactor.what)
		return plain[contents->count];
	return allo_basename(allo_text_of(path)).data;
}

static bool is_damaged(const struct allo_notes *notes)
{
	return notes->of[ALLO_NOTE_DAMAGED_PAGES].count > 0 ||
	       notes->of[ALLO_NOTE_UNREAD_PAGES].count > 0;
}

static bool add_file(struct contents *contents, struct allo_html_report *report, const char *path,
		     struct allo_error *err)
{
	struct allo_report_file *file = &contents->files[contents->count];
	struct allo_redactor *redactor = report->redact ? &contents->redactor : NULL;
	struct allo_report_file *asked;
	bool has_addresses, is_packed;

	*file = (struct allo_report_file){ shown_name(contents, path), path };
	if (!inspect(path, report->reading, &has_addresses, &is_packed, err))
		return false;
	report->has_recording |= has_addresses;
	if (has_addresses || redactor) {
		contents->copies[contents->count] = name_copy(err);
		file->path = contents->copies[contents->count];
	}
	asked = &contents->asked[contents->count++];
	*asked = *file;
	if (has_addresses) {
		if (!file->path || !allo_portable_copy(path, file->path, report->reading, redactor,
						       &report->notes, err))
			return false;
		/* The copy of a damaged recording knows its gaps. */
		if (is_packed && !redactor && !is_damaged(&report->notes))
			asked->path = path;
		return true;
	}
	return !redactor || (file->path && allo_redacted_profile(path, file->path, report->reading,
								 redactor, err));
}

static bool add_source(struct contents *contents, struct allo_html_report *report,
		       const char *const *paths, struct allo_error *err)
{
	if (!allo_output_open_memory(&contents->source, &(struct allo_output_options){ 0 }, err))
		return false;
	for (size_t i = 0; paths[i]; i++) {
		if (!allo_source_spans_add(&contents->spans, paths[i], report->reading, err))
			return false;
	}
	return allo_source_spans_write(&contents->spans, &contents->source, &report->source_files,
				       err) &&
	       allo_output_finish(&contents->source, err);
}

/* What the report contains, for the page. */

const char *const allo_redactions[] = { "names", "paths", "args", "host", NULL };

static bool make_statement(struct contents *contents, const struct allo_html_report *report,
			   struct allo_error *err)
{
	struct allo_json_out json = { .out = &contents->statement };

	if (!allo_output_open_memory(&contents->statement, &(struct allo_output_options){ 0 }, err))
		return false;
	allo_json_out_begin(&json, '{');
	allo_json_out_key(&json, "events");
	allo_json_out_bool(&json, report->has_recording);
	if (report->kind != ALLO_REPORT_WHOLE)
		allo_json_out_member_text(&json, "series",
					  report->kind == ALLO_REPORT_TOO_LARGE
						  ? ALLO_TEXT("size")
						  : ALLO_TEXT("engine"));
	if (report->source_files > 0)
		allo_json_out_member_u64(&json, "source_files", report->source_files);
	allo_json_out_key(&json, "redacted");
	allo_json_out_begin(&json, '[');
	for (unsigned i = 0; allo_redactions[i]; i++) {
		if (report->redact & 1u << i)
			allo_json_out_string(&json, allo_redactions[i]);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
	return allo_output_finish(&contents->statement, err);
}

/* Writing. */

static bool fail_engine(struct allo_error *err)
{
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
		  "this allo was built without the engine of reports");
	return allo_hint(err, "'allo view' needs none; to build it, install clang-19, lld-19, "
			      "wasi-libc, libclang-rt-19-dev-wasm32 and zstd");
}

static bool fits(const struct allo_html_report *report)
{
	return report->max_size == 0 || report->size <= report->max_size;
}

/* Writes the page into memory: its size is not known before. */
static bool draft_page(struct allo_html_report *report, const struct allo_report_page *page,
		       struct allo_output *draft, struct allo_error *err)
{
	if (!allo_output_open_memory(draft, &(struct allo_output_options){ 0 }, err) ||
	    !allo_report_page_write(page, draft, err) || !allo_output_finish(draft, err))
		return false;
	report->size = allo_output_memory(draft).len;
	return true;
}

/* A copy has no second report, so the cache need not keep it. */
static bool make_replies(struct contents *contents, const struct allo_html_report *report,
			 struct allo_error *err)
{
	struct allo_source_options reading = *report->reading;

	for (size_t i = 0; i < contents->count; i++)
		reading.no_cache |= contents->asked[i].path == contents->copies[i];
	return allo_output_open_memory(&contents->replies, &(struct allo_output_options){ 0 },
				       err) &&
	       allo_report_series_write(contents->asked, contents->count, &reading,
					&contents->replies, err) &&
	       allo_output_finish(&contents->replies, err);
}

/* A series report: replies take the place of engine and files. */
static bool draft_series(struct contents *contents, struct allo_html_report *report,
			 struct allo_output *draft, struct allo_error *err)
{
	struct allo_report_part parts[2] = { { .id = "allo-contents" }, { .id = "allo-replies" } };
	struct allo_report_page page = { .parts = parts, .part_count = 2 };
	char is[ALLO_NUMBER_SIZE], most[ALLO_NUMBER_SIZE];

	report->has_recording = false;
	report->source_files = 0;
	allo_output_drop(&contents->statement);
	allo_output_drop(draft);
	if (!make_replies(contents, report, err) || !make_statement(contents, report, err))
		return false;
	parts[0].bytes = allo_output_memory(&contents->statement);
	parts[1].bytes = allo_output_memory(&contents->replies);
	if (!draft_page(report, &page, draft, err))
		return false;
	if (fits(report))
		return true;
	allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE,
		  "the report would have %s even without the recording, more than %s",
		  allo_format_bytes(report->size, is), allo_format_bytes(report->max_size, most));
	return allo_hint(err, "raise --max-size, or use 'allo view'");
}

/* Drafts the report as the best kind that fits. */
static bool draft_report(struct contents *contents, struct allo_html_report *report,
			 struct allo_output *draft, struct allo_error *err)
{
	struct allo_report_part parts[2] = { { .id = "allo-contents" }, { .id = "allo-source" } };
	struct allo_report_page page = { .engine = allo_embedded_engine(),
					 .files = contents->files,
					 .file_count = contents->count,
					 .parts = parts };

	page.part_count = contents->count == 0 ? 0 : report->with_source ? 2 : 1;
	if (page.engine.len == 0) {
		report->kind = ALLO_REPORT_NO_ENGINE;
		return contents->count > 0 ? draft_series(contents, report, draft, err)
					   : fail_engine(err);
	}
	if (!make_statement(contents, report, err))
		return false;
	parts[0].bytes = allo_output_memory(&contents->statement);
	if (report->with_source)
		parts[1].bytes = allo_output_memory(&contents->source);
	if (!draft_page(report, &page, draft, err))
		return false;
	if (fits(report) || contents->count == 0)
		return true;
	report->kind = ALLO_REPORT_TOO_LARGE;
	report->whole_size = report->size;
	return draft_series(contents, report, draft, err);
}

static bool write_report(struct contents *contents, struct allo_html_report *report,
			 const char *const *paths, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(allo_output_drop) struct allo_output draft = { .fd = -1 };
	const struct allo_output_options output = { .replace = report->force,
						    .sources = report->sources };

	for (size_t i = 0; paths[i]; i++) {
		if (!add_file(contents, report, paths[i], err))
			return false;
	}
	if ((report->with_source && !add_source(contents, report, paths, err)) ||
	    !draft_report(contents, report, &draft, err) ||
	    !allo_output_open(&out, report->path, &output, err))
		return false;
	allo_output_text(&out, allo_output_memory(&draft));
	return allo_output_finish(&out, err);
}

/* Replaces a position in a copy, whose name is about to be freed, by the file that was copied. */
static void leave_copy(struct allo_pos *pos, const struct contents *contents,
		       const char *const *paths)
{
	for (size_t i = 0; paths[i]; i++) {
		if (pos->file && pos->file == contents->copies[i])
			*pos = (struct allo_pos){ .file = paths[i] };
	}
}

bool allo_html_report_write(struct allo_html_report *report, const char *const *paths,
			    struct allo_error *err)
{
	ALLO_DEFER(contents_done)
	struct contents contents = { .redactor.what = report->redact,
				     .source.fd = -1,
				     .statement.fd = -1,
				     .replies.fd = -1 };
	bool ok = write_report(&contents, report, paths, err);

	leave_copy(&err->pos, &contents, paths);
	for (enum allo_note n = 0; n < ALLO_NOTES; n++)
		leave_copy(&report->notes.of[n].first, &contents, paths);
	return ok;
}
