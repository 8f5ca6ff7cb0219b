/*
 * heap.h - the heap of a recorded program during a replay, counted per allocation site.
 *
 * Counters per site: live, allocated, maximum, and the values at the exact peak of the program.
 */
#ifndef ALLO_REPLAY_HEAP_H
#define ALLO_REPLAY_HEAP_H

#include "replay/peak.h"
#include "replay/recording/marks.h"
#include "replay/sites.h"
#include "replay/timeline.h"
#include "replay/window.h"

/* The counters of a site, beside its number of allocations (live_blocks.h: made).  They fill one
 * cache line, since programs with many stacks miss the cache at each access.  32 bits are enough
 * for live blocks: the table of live blocks would not fit memory before. */
struct allo_site {
	uint64_t alloc_bytes;
	uint64_t live_bytes;
	uint64_t max_bytes;
	uint64_t kept_bytes; /* live at the peak with the number of_peak: see peak.h */
	uint32_t of_peak;
	uint32_t kept_blocks;
	uint32_t live_blocks;
	uint32_t max_blocks;       /* live when max_bytes were */
	uint64_t lifetime_ns;      /* at most UINT64_MAX */
	uint64_t temporary_blocks; /* freed by the allocating thread before its next allocation */
};

struct allo_peak {
	uint64_t bytes, blocks;
};

/* The counters of a site at an instant. */
struct allo_site_before {
	uint64_t alloc_blocks, alloc_bytes;
	struct allo_peak live;
};

/* The same in a sampled recording. */
struct allo_weighed_before {
	struct allo_weighed alloc, live;
};

/* All zeros: nothing to drop. */
struct allo_heap {
	struct allo_live_blocks blocks;
	struct allo_site *sites;           /* by stack, as many as blocks.stack_count */
	struct allo_weighed_site *weighed; /* the same; NULL unless the recording is sampled */
	/* If not NULL, site numbers take the place of stacks in `sites` and in `blocks`.  Those of
	 * a compact heap are in the order of the stacks. */
	struct allo_site_ids *ids;
	struct allo_own_events own;
	/* Each site at the instant of allo_heap_keep_before().  Sites that appear later are beyond
	 * the end.  `weighed_before` is for sampled recordings. */
	ALLO_VEC(struct allo_site_before) before;
	ALLO_VEC(struct allo_weighed_before) weighed_before;
	/* Of a heap from the cache, in place of blocks.table: birth times of the live blocks, those
	 * of each site in a row, in the order of the sites; empty unless wants_births is set. */
	ALLO_VEC(uint64_t) births;
	bool has_long_lifetimes; /* a sum of lifetimes does not fit 64 bits */
	uint64_t from_ns;        /* lifetimes of blocks born before are not counted */

	/* Private from here on. */
	uint32_t peaks; /* number of the last peak; 0 before the first */
};

/* The recording must stay open as long as the heap. */
bool allo_heap_init(struct allo_heap *heap, const struct allo_recording *recording,
		    struct allo_error *err);

/* Adds the sums that a bounded recording has of events before its exact ones.  Call it before the
 * first event, after sites have numbers, if they are to have any. */
bool allo_heap_add_earlier(struct allo_heap *heap, const struct allo_recording *recording,
			   struct allo_error *err);

/* Makes room for stacks and streams that the recording has gained. */
bool allo_heap_grow(struct allo_heap *heap, const struct allo_recording *recording,
		    size_t stream_count, struct allo_error *err);

void allo_heap_done(struct allo_heap *heap);

/* Applies events; false when memory is short. */
bool allo_heap_apply(struct allo_heap *heap, const struct allo_event_span *span,
		     struct allo_error *err);

/* The same, and returns the outcome of each event. */
bool allo_heap_apply_with_outcomes(struct allo_heap *heap, const struct allo_event_span *span,
				   struct allo_outcomes *outcomes, struct allo_error *err);

/* Call it after the last event: adds the lifetimes of live blocks, which stay live. */
void allo_heap_end(struct allo_heap *heap, uint64_t end_ns);

/* A part of it: counts partial and missing stacks. */
void allo_heap_end_stacks(struct allo_heap *heap);

/* Sites are stacks with labels from now on: sites so far have none. */
bool allo_heap_tell_labels(struct allo_heap *heap, struct allo_error *err);

/* Replaces the stacks of a span's events by sites, of which the heap has to know (`ids` is set),
 * and makes room for them.  `stack_count` is that of the recording. */
bool allo_heap_number_sites(struct allo_heap *heap, struct allo_event_span *span,
			    size_t stack_count, struct allo_error *err);

/* Makes room for all sites that `ids` has numbered. */
bool allo_heap_cover_sites(struct allo_heap *heap, struct allo_error *err);

/* Counts a block that the caller has found to be made, or to end (view/log/change_log.h).  `ended`
 * has the site, size, birth and flags of the block; `lives_on`: realloc resizes it. */
void allo_heap_count_made(struct allo_heap *heap, uint32_t site, uint64_t size, uint64_t ns);
void allo_heap_count_ended(struct allo_heap *heap, const struct allo_outcome *ended, bool lives_on,
			   uint64_t ns);

/* Adds the lifetime of a block that is live at the end. */
void allo_heap_count_live(struct allo_heap *heap, uint32_t site, uint64_t size, uint64_t birth_ns,
			  uint64_t end_ns);

/* Sees all events of a replay in time order, after the heap has applied them.  Stacks of outcomes
 * are sites of the heap.  False stops the replay. */
struct allo_heap_observer {
	bool (*take)(void *context, const struct allo_heap *heap,
		     const struct allo_event_span *span, const struct allo_outcomes *outcomes,
		     struct allo_error *err);
	/* Called once, after the last event. */
	bool (*end)(void *context, const struct allo_heap *heap, uint64_t end_ns,
		    struct allo_error *err);
	void *context;
};

/* All zeros: the whole recording. */
struct allo_heap_options {
	struct allo_window window;
	bool by_thread;                 /* sites are told apart by thread */
	bool keeps_before;              /* calls allo_heap_keep_before() where the window begins */
	bool keeps_first;               /* see live_blocks.h; ignored in a sampled recording, which
					   may lack the first block of a realloc chain */
	struct allo_timeline *timeline; /* filled by the replay, or NULL */
	struct allo_marks *marks;       /* filled by the replay, or NULL */
	bool is_compact;   /* only stacks that have allocated have sites, which saves memory where
			      most nodes have not; not for a sampled recording, an observer or
			      keeps_before, which know sites by number during the replay */
	bool wants_births; /* birth times of blocks that are live at the end */
	const struct allo_heap_observer *observer; /* or NULL; a cached heap has no events to see */
};

/* Resets all but the live blocks.  Called before the first event of a window that does not start at
 * 0. */
bool allo_heap_begin_window(struct allo_heap *heap, const struct allo_heap_options *options,
			    struct allo_error *err);

/* Keeps the counters of all sites, in place of those that were kept before: ALLO_AT_CHANGE shows
 * the changes since then. */
bool allo_heap_keep_before(struct allo_heap *heap, struct allo_error *err);

/* Whether sites need keys, because they are more than stacks. */
static inline bool allo_heap_wants_keys(const struct allo_recording *recording,
					const struct allo_heap_options *options)
{
	return options->by_thread || allo_recording_has_labels(recording);
}

/* Whether sites have numbers that are not those of stacks. */
static inline bool allo_heap_wants_ids(const struct allo_recording *recording,
				       const struct allo_heap_options *options)
{
	return options->is_compact || allo_heap_wants_keys(recording, options);
}

/* Replays all events of a window, and calls allo_heap_end(). */
bool allo_heap_replay(struct allo_heap *heap, struct allo_recording *recording,
		      const struct allo_heap_options *options, uint64_t *event_count,
		      struct allo_error *err);

/* The stack of a site. */
static inline uint32_t allo_heap_stack(const struct allo_heap *heap, size_t site)
{
	return heap->ids ? heap->ids->keys.at.at[site].stack : (uint32_t)site;
}

/* Whether a site has allocated in the window, or held blocks from before it. */
static inline bool allo_heap_has_site(const struct allo_heap *heap, size_t site)
{
	return heap->blocks.made[site] > 0 || heap->sites[site].max_blocks > 0;
}

/* The live blocks of a site when the program first held the most bytes. */
static inline struct allo_peak allo_heap_peak(const struct allo_heap *heap,
					      const struct allo_site *site)
{
	if (ALLO_PEAK_IS_SAVED(site, heap->peaks))
		return (struct allo_peak){ site->kept_bytes, site->kept_blocks };
	return (struct allo_peak){ site->live_bytes, site->live_blocks };
}

#endif
