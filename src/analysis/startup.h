/*
 * startup.h - functions that only lead to a program's own: what calls main(), and what calls the
 * function of a new thread.
 */
#ifndef ALLO_ANALYSIS_STARTUP_H
#define ALLO_ANALYSIS_STARTUP_H

#include "base/text.h"

/* Whether a function of this name belongs there when all its callers do. */
bool allo_is_startup(struct allo_text function);

/* Whether it is the border itself: whoever calls it belongs there, too. */
bool allo_is_startup_border(struct allo_text function);

#endif
