/*
 * code_style.h - tells own code from libraries by the style of names, on terminals.
 *
 * Own code is bold, libraries are dim; analysis/sites/ownership.h tells them apart.  Reports
 * without colours are not judged at all.
 */
#ifndef ALLO_REPORT_CODE_STYLE_H
#define ALLO_REPORT_CODE_STYLE_H

#include "analysis/top.h"
#include "report/report.h"

/* The style of one of a frame's calls. */
enum allo_text_style allo_report_call_style(struct allo_report *report,
					    const struct allo_profile *profile,
					    const struct allo_frame *frame, uint32_t call);

/* The style of a module, by its path. */
enum allo_text_style allo_report_module_style(struct allo_report *report,
					      const struct allo_profile *profile,
					      allo_string_id path);

/* The style of a row of analysis/top.h, by its function, file and module. */
enum allo_text_style allo_report_row_style(struct allo_report *report,
					   const struct allo_profile *profile,
					   const struct allo_top_key *key);

#endif
