/*
 * log_steps.h - timelines from a change log.
 */
#ifndef ALLO_VIEW_LOG_STEPS_H
#define ALLO_VIEW_LOG_STEPS_H

#include "view/log/change_log_segment.h"

/* The timeline of a window with the steps that replay/timeline.h would choose; `most` is set.
 * `end_ns` is the end of the window. */
bool allo_log_history(const struct allo_change_log *log, const struct allo_window *window,
		      uint64_t end_ns, struct allo_timeline *timeline, struct allo_error *err);

#endif
