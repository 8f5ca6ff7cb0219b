/*
 * reports.h - the named queries of 'allo sql --report', in portable SQL.
 */
#ifndef ALLO_SQL_REPORTS_H
#define ALLO_SQL_REPORTS_H

#include "base/text.h"

/* Sorted; ends with NULL. */
extern const char *const allo_report_names[];

/* The SQL of a report, by index. */
const char *allo_report_sql(size_t index);

/* The title of a report: its first line, without the dashes. */
struct allo_text allo_report_title(size_t index);

#endif
