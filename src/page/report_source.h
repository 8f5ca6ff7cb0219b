/*
 * report_source.h - the source lines of a report: those of the functions that it shows.
 */
#ifndef ALLO_PAGE_REPORT_SOURCE_H
#define ALLO_PAGE_REPORT_SOURCE_H

#include "base/io/output.h"
#include "engine/source.h"

/* Lines of a source file, which a function has. */
struct allo_source_span {
	struct allo_text path;
	uint32_t first, last;
};

/* All zeros is empty. */
struct allo_source_spans {
	ALLO_VEC(struct allo_source_span) list;
	struct allo_arena arena; /* of the paths */
};

void allo_source_spans_done(struct allo_source_spans *spans);

/* Adds the functions of a file that allo reads. */
bool allo_source_spans_add(struct allo_source_spans *spans, const char *file,
			   const struct allo_source_options *reading, struct allo_error *err);

/* Writes the lines as JSON: {"/src/a.c": [[12, "line 12", "line 13"], [40, ...]], ...}.  `files`
 * becomes the number of source files that were found. */
bool allo_source_spans_write(struct allo_source_spans *spans, struct allo_output *out,
			     size_t *files, struct allo_error *err);

#endif
