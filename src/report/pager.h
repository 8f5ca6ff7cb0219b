/*
 * pager.h - results that do not fit on the screen, a page at a time.
 *
 * What goes to a terminal is collected first: only when all of it is there can one tell whether it
 * fits.  Everywhere else it is printed as it comes.
 */
#ifndef ALLO_REPORT_PAGER_H
#define ALLO_REPORT_PAGER_H

#include "base/output.h"

/* Opens standard output for a result, which may be paged if `is_wanted`. */
bool allo_pager_open(struct allo_output *out, bool is_wanted, struct allo_error *err);

/* Prints what was collected: through $PAGER, or less, if it is longer than the screen. */
bool allo_pager_finish(struct allo_output *out, struct allo_error *err);

#endif
