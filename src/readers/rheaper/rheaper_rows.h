/*
 * rheaper_rows.h - the individual allocations of a rheaper recording, from allocation to free.
 */
#ifndef ALLO_READERS_RHEAPER_ROWS_H
#define ALLO_READERS_RHEAPER_ROWS_H

#include "profile/allocation.h"
#include "readers/rheaper/rheaper_stacks.h"

/* Receives rows; returning false stops the replay. */
typedef bool allo_rheaper_take(void *context, const struct allo_allocation *rows, size_t count,
			       struct allo_error *err);

/* Reports the rows of a recording whose profile was built before (rheaper_profile.h), with the same
 * stacks.  Rows come in the order in which blocks end; blocks that never end come last, the oldest
 * first.  Memory grows with the number of live blocks. */
bool allo_rheaper_rows(struct allo_rheaper_files *files, const struct allo_rheaper_stacks *stacks,
		       allo_rheaper_take *take, void *context, struct allo_error *err);

#endif
