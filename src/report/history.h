/*
 * history.h - a number over time, in bounded memory: the maximum of each step of time.
 *
 * The step length doubles when there would be too many steps.
 */
#ifndef ALLO_REPORT_HISTORY_H
#define ALLO_REPORT_HISTORY_H

#include <stddef.h>
#include <stdint.h>

enum { ALLO_HISTORY_MOST = 1024 };

/* All zeros with `step_ns` set is empty. */
struct allo_history {
	uint64_t step_ns, start_ns, end_ns;
	uint64_t least, most; /* of all values */
	size_t count;
	uint64_t values[ALLO_HISTORY_MOST];
};

/* Adds the value of a time, which must not be before the last one.  It holds until the next. */
void allo_history_add(struct allo_history *history, uint64_t ns, uint64_t value);

#endif
