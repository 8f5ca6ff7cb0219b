/*
 * pager.h - shows results that are longer than the screen in a pager.
 *
 * Output for a terminal is collected first, since its length decides.  All other output is printed
 * at once.
 */
#ifndef ALLO_REPORT_PAGER_H
#define ALLO_REPORT_PAGER_H

#include "base/io/output.h"

/* Opens standard output for a result, which may be paged if `is_wanted`. */
bool allo_pager_open(struct allo_output *out, bool is_wanted, struct allo_error *err);

/* Prints the collected output: through $PAGER, or less, if it is longer than the screen. */
bool allo_pager_finish(struct allo_output *out, struct allo_error *err);

#endif
