/*
 * report_series.h - replies for a report without its recording: a series report.
 *
 * The page of such a report has no engine.  It shows replies that were made beforehand: the exact
 * curve of the heap, and trees and tables of a fixed set of windows.  Each request and each reply
 * is stored behind its length, a u32:
 *
 *     length, request as JSON, length, reply (doc/reply.md), length, request, ...
 */
#ifndef ALLO_PAGE_REPORT_SERIES_H
#define ALLO_PAGE_REPORT_SERIES_H

#include "base/io/output.h"
#include "engine/source.h"
#include "page/report_page.h"

/* Writes the replies about the files.  Two files have a third: their comparison. */
bool allo_report_series_write(const struct allo_report_file *files, size_t count,
			      const struct allo_source_options *reading, struct allo_output *out,
			      struct allo_error *err);

#endif
