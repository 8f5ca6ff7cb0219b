/*
 * reports.h - queries that have a name, in the SQL that most databases share.
 */
#ifndef ALLO_SQL_REPORTS_H
#define ALLO_SQL_REPORTS_H

#include "base/text.h"

/* In alphabetical order; NULL ends. */
extern const char *const allo_report_names[];

/* The text of a report, by its index. */
const char *allo_report_sql(size_t index);

/* What it shows: its first line, without the dashes. */
struct allo_text allo_report_title(size_t index);

#endif
