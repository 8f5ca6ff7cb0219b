/*
 * startup.h - recognises start-up code: the callers of main() and of a thread's function.
 */
#ifndef ALLO_ANALYSIS_STARTUP_H
#define ALLO_ANALYSIS_STARTUP_H

#include "base/text.h"

/* Whether a function is start-up code, provided that all its callers are. */
bool allo_is_startup(struct allo_text function);

/* Whether it is the innermost start-up function, so that all its callers are start-up code. */
bool allo_is_startup_border(struct allo_text function);

#endif
