/*
 * runtime_startup.h - memory that the C and C++ libraries reserve once per process, when they
 * start.
 *
 * It is no leak of the program: libstdc++ keeps 71 KiB for exceptions until the process ends.
 */
#ifndef ALLO_ANALYSIS_RUNTIME_STARTUP_H
#define ALLO_ANALYSIS_RUNTIME_STARTUP_H

#include "analysis/sum.h"

/* Whether a stack is one of the initial functions of these libraries. */
bool allo_is_runtime_startup(const struct allo_profile *profile, allo_stack_id stack);

/* The sum of such samples. */
struct allo_values allo_runtime_startup_sum(const struct allo_profile *profile,
					    const struct allo_metric_columns *columns);

/* Drops such samples if they have values in these columns. */
bool allo_runtime_startup_drop(struct allo_profile *profile,
			       const struct allo_metric_columns *columns, struct allo_error *err);

#endif
