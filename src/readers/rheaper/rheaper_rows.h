/*
 * rheaper_rows.h - the single allocations of a recording of rheaper's, each with its whole life.
 */
#ifndef ALLO_READERS_RHEAPER_ROWS_H
#define ALLO_READERS_RHEAPER_ROWS_H

#include "readers/rheaper/rheaper_stacks.h"

/* In place of the time when a block was freed that never was. */
#define ALLO_RHEAPER_NEVER ((uint64_t)INT64_MAX)

struct allo_rheaper_row {
	uint64_t alloc_ns, free_ns; /* since the start; the latter may be ALLO_RHEAPER_NEVER */
	uint64_t size, address;
	allo_stack_id stack;                      /* of the profile; 0: not known */
	allo_thread_id alloc_thread, free_thread; /* the same */
	bool is_temporary; /* its thread freed it before it allocated again */
};

/* Takes rows as they come; false ends it. */
typedef bool allo_rheaper_take(void *context, const struct allo_rheaper_row *rows, size_t count,
			       struct allo_error *err);

/* The rows of a recording of which a profile has been made (rheaper_profile.h), with the stacks
 * that were read then: in the order in which blocks end, and those that never do last, the oldest
 * first.  Memory grows with the blocks that are live at once. */
bool allo_rheaper_rows(struct allo_rheaper_files *files, const struct allo_rheaper_stacks *stacks,
		       allo_rheaper_take *take, void *context, struct allo_error *err);

#endif
