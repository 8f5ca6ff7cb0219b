/*
 * show_missing_symbols.h - points out functions without names, with the command that gets them.
 */
#ifndef ALLO_CLI_SHOW_MISSING_SYMBOLS_H
#define ALLO_CLI_SHOW_MISSING_SYMBOLS_H

#include "analysis/top.h"
#include "report/report.h"

/*
 * One line about the first of `count` rows whose function is the program's own and is named by its
 * offset, and the JSON member "missing_symbols".  `root`, which may be NULL, is the root directory
 * of the recorded machine.
 */
void allo_report_missing_symbols(struct allo_report *report, const struct allo_profile *profile,
				 const struct allo_top *top, size_t count, const char *root);

/* Reports that a recording of Node.js has no functions of JavaScript, and how to get them. */
void allo_report_missing_scripts(struct allo_report *report, const struct allo_profile *profile);

#endif
