/*
 * runtime_memory.h - memory that the libraries of C, C++ and Rust keep until the process ends.
 *
 * It is no leak of the program: the buffers of stdin and stdout, 71 KiB that libstdc++ keeps for
 * exceptions, and 0.5 KiB that Rust keeps about its main thread.
 */
#ifndef ALLO_ANALYSIS_RUNTIME_MEMORY_H
#define ALLO_ANALYSIS_RUNTIME_MEMORY_H

#include "analysis/sum.h"

/* Whether a stack is one that allocates such memory. */
bool allo_is_runtime_memory(const struct allo_profile *profile, allo_stack_id stack);

/* The sum of such samples. */
struct allo_values allo_runtime_memory_sum(const struct allo_profile *profile,
					   const struct allo_metric_columns *columns);

/* Drops such samples if they have values in these columns. */
bool allo_runtime_memory_drop(struct allo_profile *profile,
			      const struct allo_metric_columns *columns, struct allo_error *err);

#endif
