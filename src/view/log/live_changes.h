/*
 * live_changes.h - the blocks that are live at a place of a change log, by the changes that made
 * them.
 */
#ifndef ALLO_VIEW_LIVE_CHANGES_H
#define ALLO_VIEW_LIVE_CHANGES_H

#include "view/log/change_log_segment.h"

/* All zeros is empty. */
struct allo_live_changes {
	ALLO_VEC(uint64_t) bits; /* by number of the change */
};

void allo_live_changes_done(struct allo_live_changes *live);

/* Makes room for all changes before a place. */
bool allo_live_changes_init(struct allo_live_changes *live, struct allo_log_place end,
			    struct allo_error *err);

static inline void allo_live_changes_set(struct allo_live_changes *live, uint32_t number)
{
	live->bits.at[number / 64] |= (uint64_t)1 << number % 64;
}

static inline void allo_live_changes_clear(struct allo_live_changes *live, uint32_t number)
{
	live->bits.at[number / 64] &= ~((uint64_t)1 << number % 64);
}

static inline bool allo_live_changes_has(const struct allo_live_changes *live, uint32_t number)
{
	return live->bits.len > 0 && (live->bits.at[number / 64] >> number % 64 & 1) != 0;
}

/* Finds all blocks that are live at a place. */
bool allo_live_changes_at(struct allo_live_changes *live, const struct allo_change_log *log,
			  struct allo_log_place place, struct allo_error *err);

/* The next block from a number on; false if there is none. */
bool allo_live_changes_next(const struct allo_live_changes *live, uint32_t *number);

/* The number of the change that made the block which a change ends; ALLO_LOG_INHERITS is not
 * set. */
static inline uint32_t allo_log_made_number(const struct allo_log_segment *segment, uint32_t first,
					    uint32_t at)
{
	uint32_t ref = segment->refs[at];

	return allo_log_bit(segment->imported, at) ? segment->import_made[ref] & ~ALLO_LOG_INHERITS
						   : first + at - ref;
}

/* Sets heap->births: those of each site in a row, sorted, in the order of sites. */
struct allo_log_birth_place {
	uint32_t site; /* of the heap */
	uint64_t birth_ns;
};

bool allo_log_set_births(const struct allo_change_log *log, struct allo_heap *heap,
			 const struct allo_log_birth_place *births, size_t count,
			 struct allo_error *err);

#endif
