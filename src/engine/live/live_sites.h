/*
 * live_sites.h - the memory of a followed heap, summed up by function, line, file or module.
 *
 * A stack gets its name and its row when it first allocates, so debug information is read for new
 * stacks only.  Between new stacks an update is one pass over numbers.
 */
#ifndef ALLO_ENGINE_LIVE_SITES_H
#define ALLO_ENGINE_LIVE_SITES_H

#include "analysis/filters/filter.h"
#include "analysis/sites/attribution.h"
#include "analysis/top.h"
#include "engine/live/frame_names.h"
#include "engine/live/live_heap.h"

struct allo_live_row {
	struct allo_text name, file; /* the file may be empty */
	uint64_t line;               /* 0: none */
	uint64_t id;                 /* equal rows of two processes or two looks have equal ids */
	unsigned depth;              /* of a caller: its indentation */
	bool is_continued;           /* a caller with the numbers of the row above */
	bool is_own;                 /* the program's own code, not a library's */
	struct allo_live_sum sum;
};

/* Orders of rows, the largest first; rows that are equal are sorted by name. */
enum allo_live_sort {
	ALLO_LIVE_BY_BYTES,
	ALLO_LIVE_BY_BLOCKS,
	ALLO_LIVE_BY_GROWTH,
	ALLO_LIVE_BY_RATE,
	ALLO_LIVE_SORTS
};

int allo_live_row_compare(const struct allo_live_row *a, const struct allo_live_row *b,
			  enum allo_live_sort sort);

/* Bytes since the mark. */
static inline int64_t allo_live_growth(const struct allo_live_sum *sum)
{
	return (int64_t)(sum->live_bytes - sum->marked_bytes);
}

/* Whether there is nothing to show: no live block, no allocation since the last look, no change. */
static inline bool allo_live_is_idle(const struct allo_live_sum *sum)
{
	return sum->live_blocks == 0 && sum->marked_bytes == 0 &&
	       sum->alloc_blocks == sum->earlier_blocks;
}

/* All zeros with the first members set is ready for use.  Must not move. */
struct allo_live_sites {
	enum allo_by by;
	/* A stack belongs to its site or, if it is not set, to its innermost call. */
	bool has_attribution;
	struct allo_attribution attribution;
	struct allo_filter filter; /* its labels are ignored */
	ALLO_VEC(struct allo_live_row) rows;
	struct allo_live_sum sum; /* of the rows */
	unsigned groupings;       /* number of times that the rows were made anew */

	/* Private. */
	bool is_grouped;
	unsigned recording;
	struct allo_profile profile;     /* stacks with names */
	allo_stack_id *stacks;           /* filtered, by stack of the heap */
	ALLO_VEC(uint32_t) row_of_stack; /* index + 1; 0: none yet; UINT32_MAX: filtered out */
	struct allo_top top;
	struct allo_ownership ownership;
	ALLO_VEC(bool) own_rows; /* by row of `top` */
	struct allo_arena arena;
	struct allo_frame_names names;
};

/* Sums up the numbers of the last look. */
bool allo_live_sites_update(struct allo_live_sites *sites, const struct allo_live_heap *heap,
			    struct allo_error *err);

/* Groups anew at the next update: the filter has changed. */
void allo_live_sites_regroup(struct allo_live_sites *sites);

void allo_live_sites_done(struct allo_live_sites *sites);

#endif
