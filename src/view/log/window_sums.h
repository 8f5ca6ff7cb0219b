/*
 * window_sums.h - a window of a change log by site: whole segments by their sums, the rest by
 * reading changes.
 */
#ifndef ALLO_VIEW_WINDOW_SUMS_H
#define ALLO_VIEW_WINDOW_SUMS_H

#include "view/log/change_log_segment.h"

/* Numbers of changes in a window. */
struct allo_window_counts {
	uint64_t made, made_by_resize;
	uint64_t ended, ended_by_resize;
};

/* Fills the sites of a heap, and the totals that depend on them.  `end_ns` is the end of the
 * window. The heap has room for all sites of the log; others stay as they are. */
bool allo_window_sums(const struct allo_change_log *log, const struct allo_heap_options *options,
		      uint64_t end_ns, struct allo_heap *heap, struct allo_window_counts *counts,
		      struct allo_error *err);

/* What a site holds. */
struct allo_site_live {
	uint64_t bytes;
	uint32_t blocks;
};

/* What each site of the log holds at a place. */
void allo_log_live_at(const struct allo_change_log *log, struct allo_log_place place,
		      struct allo_site_live *live);

#endif
