/*
 * allocation.h - individual allocations with their whole lives, and the process that made them.
 *
 * A row refers to stacks, threads and labels of a profile.  Databases and liballotrope take rows;
 * recordings, and other tools' files that hold single allocations, give them.
 */
#ifndef ALLO_PROFILE_ALLOCATION_H
#define ALLO_PROFILE_ALLOCATION_H

#include "profile/profile.h"

/* The time of a free that never happened. */
#define ALLO_NEVER_FREED ((uint64_t)INT64_MAX)

/* Times are nanoseconds since the start of the recording.  Ids are 0 where unknown. */
struct allo_allocation {
	uint64_t alloc_ns;
	uint64_t first_ns; /* of the first block of a chain of reallocs; else alloc_ns */
	uint64_t free_ns;  /* or ALLO_NEVER_FREED */
	uint64_t size;
	uint64_t address; /* 0: unknown */
	allo_stack_id stack;
	allo_stack_id first_stack; /* of the first block of a chain of reallocs; else stack */
	allo_thread_id alloc_thread, free_thread;
	allo_labels_id labels; /* of the thread when it allocated the block */
	double weight;         /* blocks that this one represents in a sample; 0 means 1 */
	bool is_resized;       /* a realloc of another block made it */
	bool is_resized_on;    /* a realloc ended it and made another block of it */
	bool is_temporary;     /* its thread freed it before allocating again */
};

/* Facts about the process that are not in the profile's meta; empty texts are unknown. */
struct allo_process_info {
	struct allo_text program, folder, host;
	struct allo_text end; /* how it ended */
	uint64_t parent_pid;
};

/* A named instant, set by the program. */
struct allo_marker {
	uint64_t ns;
	allo_thread_id thread;
	struct allo_text name;
};

/*
 * Receives allocations: first the profile that they refer to, then rows in batches.
 * `has_rows` says for each stack whether rows refer to it (NULL: only stacks with samples have
 * rows); `process` may be NULL.
 */
struct allo_allocation_sink {
	bool (*begin)(void *context, const struct allo_profile *profile,
		      const struct allo_process_info *process, const bool *has_rows,
		      const struct allo_marker *markers, size_t marker_count,
		      struct allo_error *err);
	bool (*take)(void *context, const struct allo_allocation *rows, size_t count,
		     struct allo_error *err);
	void *context;
};

#endif
