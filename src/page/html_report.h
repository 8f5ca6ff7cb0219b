/*
 * html_report.h - writes the page of 'allo view', its engine and files into one HTML file.
 */
#ifndef ALLO_PAGE_HTML_REPORT_H
#define ALLO_PAGE_HTML_REPORT_H

#include "engine/redactor.h"
#include "engine/source.h"

/* A file, and the base that it is compared with: the engine of the page opens no more. */
enum { ALLO_HTML_REPORT_FILES = 2 };

#define ALLO_HTML_REPORT_SIZE ((uint64_t)20 << 20) /* the default of max_size */

/* Names of enum allo_redacted, in the order of its bits. */
extern const char *const allo_redactions[];

enum allo_report_kind {
	ALLO_REPORT_WHOLE,
	/* A series report, without the recording (report_series.h): */
	ALLO_REPORT_TOO_LARGE,
	ALLO_REPORT_NO_ENGINE,
};

struct allo_html_report {
	const char *path;     /* of the report; "-": standard output */
	bool force;           /* replaces a file */
	char *const *sources; /* whose permissions the report keeps; NULL ends */
	uint64_t max_size;    /* bytes; 0: no limit.  A larger report is a series report */
	unsigned redact;      /* enum allo_redacted */
	bool with_source;     /* adds the source lines of the functions */
	const struct allo_source_options *reading;

	/* Results. */
	enum allo_report_kind kind;
	uint64_t whole_size;     /* of the report with every event, if it was too large */
	bool has_recording;      /* the report has every event */
	size_t source_files;     /* with lines in the report */
	struct allo_notes notes; /* gaps of the recordings */
	uint64_t size;           /* of the report */
};

/* NULL ends `paths`.  Without any, the page waits for a file that is dropped onto it. */
bool allo_html_report_write(struct allo_html_report *report, const char *const *paths,
			    struct allo_error *err);

#endif
