/*
 * report_page.h - a report: the page, the engine and files in one HTML file.
 *
 * The page finds the engine (WebAssembly) and the files in script elements that never run, as
 * base64 of gzip.  It makes no request.
 */
#ifndef ALLO_PAGE_REPORT_PAGE_H
#define ALLO_PAGE_REPORT_PAGE_H

#include "base/output.h"

struct allo_report_file {
	const char *name; /* that the page shows */
	const char *path; /* where the bytes are */
};

struct allo_report_page {
	struct allo_text engine; /* compressed with gzip */
	const struct allo_report_file *files;
	size_t file_count; /* 0: the page waits for a file that is dropped onto it */
};

bool allo_report_page_write(const struct allo_report_page *page, struct allo_output *out,
			    struct allo_error *err);

#endif
