/*
 * mappings.h - a table of the recorded mappings, sorted by address.
 *
 * munmap may release the middle of a mapping or parts of several.  The table says which mappings a
 * range overlaps and which parts remain.  It lies in memory that a child made by fork finds zeroed,
 * since the mappings of its parent are not in its recording.
 */
#ifndef ALLO_CAPTURE_MAPPINGS_H
#define ALLO_CAPTURE_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel's default limit per process (vm.max_map_count); 1.5 MiB. */
enum { ALLO_MAPPINGS_MAX = 1 << 16 };

/* The addresses in [start, end); empty if both are equal. */
struct allo_mapping {
	uint64_t start, end;
	uint32_t stack; /* of the call that created it */
};

struct allo_mappings {
	uint32_t is_locked;
	uint32_t count;
	/* The highest address first: the kernel assigns addresses downwards, so most are appended.
	 */
	struct allo_mapping at[ALLO_MAPPINGS_MAX];
};

/* A mapping, and the parts below and above a range that was cut out of it; either may be empty. */
struct allo_mapping_cut {
	struct allo_mapping whole, below, above;
};

typedef void allo_mapping_visitor(void *context, const struct allo_mapping_cut *cut);

/* NULL if mappings are not tracked. */
extern struct allo_mappings *allo_mappings;

/* ALLO_TRACK_MMAP and ALLO_TRACK_BRK, if tracked; both until the settings are read. */
extern unsigned allo_mappings_tracked;

/* Allocates the table if the settings ask for it. */
void allo_mappings_init(void);

/* Locks the table and blocks signals: a handler must not wait for the thread that it interrupted.
 * False after about a second.  `signals` is the mask to restore. */
bool allo_mappings_lock(struct allo_mappings *mappings, uint64_t *signals);
void allo_mappings_unlock(struct allo_mappings *mappings, uint64_t signals);

/* Adds a mapping that overlaps no other.  False if the table is full. */
bool allo_mappings_add(struct allo_mappings *mappings, struct allo_mapping mapping);

/* Cuts a range out of all mappings that it overlaps and calls `each` for every one, the highest
 * first. Parts below `least` bytes are dropped.  False if the table is full, so that only the
 * larger part of a split mapping was kept. */
bool allo_mappings_cut(struct allo_mappings *mappings, uint64_t start, uint64_t end, uint64_t least,
		       allo_mapping_visitor *each, void *context);

#endif
