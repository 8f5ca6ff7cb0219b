/*
 * peak.h - the values that many counters had when their sum was largest.
 *
 * Copying all counters at each new peak would take too long, so peaks are numbered.  Each counter
 * has a field `of_peak` and saves its live value just before the first change after a peak:
 *
 *     if (ALLO_PEAK_SAVE(site, heap->peaks))
 *             site->peak_bytes = site->live_bytes;
 *     site->live_bytes += size;
 *
 * A counter that has not changed since the last peak still has its peak value as its live value.
 */
#ifndef ALLO_REPLAY_PEAK_H
#define ALLO_REPLAY_PEAK_H

#include <stdbool.h>

/* Whether the counter must save its live value now.  `peaks` is the number of the last peak. */
#define ALLO_PEAK_SAVE(counter, peaks)                                                             \
	((counter)->of_peak != (peaks) && ((counter)->of_peak = (peaks), true))

/* Whether the saved value is that of the last peak; if not, the live value is. */
#define ALLO_PEAK_IS_SAVED(counter, peaks) ((counter)->of_peak == (peaks))

#endif
