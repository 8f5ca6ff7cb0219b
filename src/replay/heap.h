/*
 * heap.h - the heap of a recorded program while its events go by.
 *
 * What each site holds and has held, and at the exact moment when the program held most.  A site is
 * a stack and, where the recording has labels, those that were in force.
 */
#ifndef ALLO_REPLAY_HEAP_H
#define ALLO_REPLAY_HEAP_H

#include "replay/marks.h"
#include "replay/own_events.h"
#include "replay/timeline.h"
#include "replay/weighed_sites.h"
#include "replay/window.h"

/* What is known of a stack, beside how many blocks it has made.  It is a cache line: programs with
 * many stacks come back to each when it is no longer near.  More than 2^32 blocks are never live,
 * since more is kept of each. */
struct allo_site {
	uint64_t alloc_bytes;
	uint64_t live_bytes;
	uint64_t max_bytes;
	uint64_t kept_bytes; /* live at the peak, */
	uint32_t of_peak;    /* this one; see allo_heap_peak() */
	uint32_t kept_blocks;
	uint32_t live_blocks;
	uint32_t max_blocks;       /* when the bytes were most */
	uint64_t lifetime_ns;      /* at most UINT64_MAX */
	uint64_t temporary_blocks; /* freed by their thread before its next allocation */
};

struct allo_peak {
	uint64_t bytes, blocks;
};

/* All zeros: nothing to drop. */
struct allo_heap {
	struct allo_live_blocks blocks;
	struct allo_site *sites;           /* by stack, as many as blocks.stack_count */
	struct allo_weighed_site *weighed; /* as many, of a sampled recording; or NULL */
	/* NULL, or sites and what blocks has by stack are by these numbers instead. */
	struct allo_site_ids *ids;
	struct allo_own_events own; /* which are nothing of the heap, but happen meanwhile */
	/* What each site held when the window began, if somebody wants to know; of sites that came
	 * later there is nothing.  One of the two. */
	ALLO_VEC(struct allo_peak) before;
	ALLO_VEC(struct allo_weighed) weighed_before;
	/* Of a heap from the cache, in place of blocks.table: birth times of the live blocks, those
	 * of each site in a row, in the order of the sites; empty unless wants_births is set. */
	ALLO_VEC(uint64_t) births;
	bool has_long_lifetimes; /* some sum does not fit 64 bits */
	uint64_t from_ns;        /* lifetimes of blocks that were born before are left out */

	/* Private from here on. */
	uint32_t peaks; /* how often there was more than ever before, since it was 0 */
};

/* For the stacks and streams of a recording, which stays open as long. */
bool allo_heap_init(struct allo_heap *heap, const struct allo_recording *recording,
		    struct allo_error *err);

/* Makes room for what the recording has by now; see live_blocks.h. */
bool allo_heap_grow(struct allo_heap *heap, const struct allo_recording *recording,
		    size_t stream_count, struct allo_error *err);

void allo_heap_done(struct allo_heap *heap);

/* Lets events happen; false when memory is short. */
bool allo_heap_apply(struct allo_heap *heap, const struct allo_event_span *span,
		     struct allo_error *err);

/* The same, for who wants to know what each has done. */
bool allo_heap_apply_and_tell(struct allo_heap *heap, const struct allo_event_span *span,
			      struct allo_outcomes *outcomes, struct allo_error *err);

/* To be called behind the last event: what is live ends its life here, but stays live. */
void allo_heap_end(struct allo_heap *heap, uint64_t end_ns);

/* What is to be replayed.  All zeros: everything. */
struct allo_heap_options {
	struct allo_window window;
	bool by_thread;                 /* sites are those of a thread */
	bool keeps_before;              /* what sites held when the window began */
	bool keeps_first;               /* see live_blocks.h; not in a sampled recording, whose
					   blocks may come from one that is not in it */
	struct allo_timeline *timeline; /* to be made in passing, or NULL */
	struct allo_marks *marks;       /* the same */
	bool wants_births;              /* birth times of blocks that are live in the end */
};

/* Whether sites are more than stacks then. */
static inline bool allo_heap_wants_ids(const struct allo_recording *recording,
				       const struct allo_heap_options *options)
{
	return options->by_thread || allo_recording_has_labels(recording);
}

/* All events of a window of a recording, and their end. */
bool allo_heap_replay(struct allo_heap *heap, struct allo_recording *recording,
		      const struct allo_heap_options *options, uint64_t *event_count,
		      struct allo_error *err);

/* The stack of a site. */
static inline uint32_t allo_heap_stack(const struct allo_heap *heap, size_t site)
{
	return heap->ids ? heap->ids->keys.at.at[site].stack : (uint32_t)site;
}

/* Whether a stack has anything to tell: it has allocated, or held what it had allocated before. */
static inline bool allo_heap_has_site(const struct allo_heap *heap, size_t stack)
{
	return heap->blocks.made[stack] > 0 || heap->sites[stack].max_blocks > 0;
}

/* What a site held at the first moment when the program held most. */
struct allo_peak allo_heap_peak(const struct allo_heap *heap, const struct allo_site *site);

#endif
