/*
 * report_page.h - a report: the page, the engine and files in one HTML file.
 *
 * The page finds the engine (WebAssembly), its own script and the files in script elements that
 * never run, as text with 7 bits a character: the engine packed by zstd, all others by gzip.  It
 * makes no request.
 */
#ifndef ALLO_PAGE_REPORT_PAGE_H
#define ALLO_PAGE_REPORT_PAGE_H

#include "base/io/output.h"

struct allo_report_file {
	const char *name; /* that the page shows */
	const char *path; /* where the bytes are */
};

/* Other data: the page finds them by their id. */
struct allo_report_part {
	const char *id;
	struct allo_text bytes;
};

struct allo_report_page {
	struct allo_text engine; /* compressed with zstd; may be empty */
	const struct allo_report_part *parts;
	size_t part_count;
	const struct allo_report_file *files;
	size_t file_count; /* 0: the page waits for a file that is dropped onto it */
};

bool allo_report_page_write(const struct allo_report_page *page, struct allo_output *out,
			    struct allo_error *err);

#endif
