/*
 * mappings.h - the mappings that were recorded, by their addresses.
 *
 * A call may release the middle of a mapping, or parts of several: this table tells which ones a
 * range of addresses touches, and what is left of them.  It lies in memory that a child made by
 * fork finds empty: what it has from its parent is not in its recording.
 */
#ifndef ALLO_CAPTURE_MAPPINGS_H
#define ALLO_CAPTURE_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

/* About as many as the kernel lets a process have unless it is told otherwise; 1.5 MiB. */
enum { ALLO_MAPPINGS_MAX = 1 << 16 };

/* From `start` up to `end`; empty where both are the same. */
struct allo_mapping {
	uint64_t start, end;
	uint32_t stack; /* of the call that made it */
};

struct allo_mappings {
	uint32_t is_locked;
	uint32_t count;
	/* The highest address first: kernels give addresses downwards, so that most go to the end.
	 */
	struct allo_mapping at[ALLO_MAPPINGS_MAX];
};

/* A mapping, and what a range leaves of it: either may be empty. */
struct allo_mapping_cut {
	struct allo_mapping whole, below, above;
};

typedef void allo_mapping_told(void *context, const struct allo_mapping_cut *cut);

/* NULL where none are tracked. */
extern struct allo_mappings *allo_mappings;

/* What is tracked of ALLO_TRACK_MMAP and ALLO_TRACK_BRK; both until that is known. */
extern unsigned allo_mappings_tracked;

/* Once the configuration is read. */
void allo_mappings_init(void);

/* For one thread at a time, and without signals: a handler must not wait for what it interrupted.
 * False when somebody else has it for about a second.  `signals` is for the reverse. */
bool allo_mappings_lock(struct allo_mappings *mappings, uint64_t *signals);
void allo_mappings_unlock(struct allo_mappings *mappings, uint64_t signals);

/* Adds one that touches no other.  False when the table is full. */
bool allo_mappings_add(struct allo_mappings *mappings, struct allo_mapping mapping);

/* Takes a range out of all mappings that it touches, and tells of each, the highest first.  Parts
 * of less than `least` bytes are not kept.  False when the table is full, and the smaller part of
 * one that was split is not kept for that reason. */
bool allo_mappings_cut(struct allo_mappings *mappings, uint64_t start, uint64_t end, uint64_t least,
		       allo_mapping_told *told, void *context);

#endif
