/*
 * html_report.h - writes the page of 'allo view', its engine and files into one HTML file.
 */
#ifndef ALLO_CLI_HTML_REPORT_H
#define ALLO_CLI_HTML_REPORT_H

#include "engine/source.h"

/* A file, and the base that it is compared with: the engine of the page opens no more. */
enum { ALLO_HTML_REPORT_FILES = 2 };

#define ALLO_HTML_REPORT_SIZE ((uint64_t)20 << 20) /* the default of max_size */

struct allo_html_report {
	const char *path;  /* of the report; "-": standard output */
	bool force;        /* replaces a file */
	uint64_t max_size; /* bytes; 0: no limit */
	const struct allo_source_options *reading;

	/* Results. */
	struct allo_notes notes; /* gaps of the recordings */
	uint64_t size;           /* of the report */
};

/* NULL ends `paths`.  Without any, the page waits for a file that is dropped onto it. */
bool allo_html_report_write(struct allo_html_report *report, char **paths, struct allo_error *err);

#endif
