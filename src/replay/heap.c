/* heap.c - see heap.h. */
#include "replay/heap.h"

#include "base/defer.h"
#include "base/hash.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
	FIRST_PLACES = 1 << 12,
	HUGE_PAGE = 2 << 20, /* bytes; x86-64's, and the smallest of aarch64's */
	AHEAD = 16,          /* events between asking for memory and using it */
};

/* A free that is later than this is not late but of another block: clocks differ by much less, and
 * where events have been lost it is the only way to tell. */
static const uint64_t late_ns = 10000000;

/* The table of live blocks. */

static inline size_t home_of(const struct allo_heap *heap, uint64_t pointer)
{
	/* Addresses are multiples of this and that: both halves of the product keep them apart. */
	unsigned __int128 product = (unsigned __int128)(pointer ^ heap->seed) * 0x9e3779b97f4a7c15;

	return (size_t)(((uint64_t)product ^ (uint64_t)(product >> 64)) >> heap->shift);
}

/* Events meet the table at random, so a large one should not need a page table of its own. */
static struct allo_live_block *new_table(size_t places)
{
	size_t size = places * sizeof(struct allo_live_block);
	void *table;

	if (size < HUGE_PAGE)
		return calloc(places, sizeof(struct allo_live_block));
	table = aligned_alloc(HUGE_PAGE, size);
	if (!table)
		return NULL;
	madvise(table, size, MADV_HUGEPAGE);
	return memset(table, 0, size);
}

static bool set_table(struct allo_heap *heap, size_t places, struct allo_error *err)
{
	heap->table = new_table(places);
	if (!heap->table)
		return allo_fail_memory(err);
	heap->mask = places - 1;
	heap->shift = 64 - (unsigned)__builtin_ctzll(places);
	return true;
}

/* Where a block is, or the free place where it would be. */
static inline struct allo_live_block *find_place(const struct allo_heap *heap, uint64_t pointer)
{
	size_t at = home_of(heap, pointer);

	while (heap->table[at].pointer != pointer && heap->table[at].pointer != 0)
		at = (at + 1) & heap->mask;
	return &heap->table[at];
}

static bool grow(struct allo_heap *heap, struct allo_error *err)
{
	struct allo_live_block *old = heap->table;
	size_t places = heap->mask + 1;

	if (!set_table(heap, places * 2, err)) {
		heap->table = old;
		return false;
	}
	for (size_t i = 0; i < places; i++) {
		if (old[i].pointer != 0)
			*find_place(heap, old[i].pointer) = old[i];
	}
	free(old);
	return true;
}

/* Takes a block out; those behind it move up, so that a free place always ends a search. */
static inline void remove_place(struct allo_heap *heap, struct allo_live_block *place)
{
	size_t hole = (size_t)(place - heap->table), at = hole;

	for (;;) {
		at = (at + 1) & heap->mask;
		if (heap->table[at].pointer == 0)
			break;
		/* It may move only if its home is not between the hole and itself. */
		if (((at - home_of(heap, heap->table[at].pointer)) & heap->mask) >=
		    ((at - hole) & heap->mask)) {
			heap->table[hole] = heap->table[at];
			hole = at;
		}
	}
	heap->table[hole].pointer = 0;
}

/* Sites. */

/* What a site held at the last peak can be seen until it changes: it is noted just before. */
static inline void note_peak(const struct allo_heap *heap, struct allo_site *site)
{
	if (site->of_peak != heap->peaks) {
		site->kept_bytes = site->live_bytes;
		site->kept_blocks = site->live_blocks;
		site->of_peak = heap->peaks;
	}
}

struct allo_peak allo_heap_peak(const struct allo_heap *heap, const struct allo_site *site)
{
	if (site->of_peak == heap->peaks)
		return (struct allo_peak){ site->kept_bytes, site->kept_blocks };
	return (struct allo_peak){ site->live_bytes, site->live_blocks };
}

static inline void add_lifetime(struct allo_heap *heap, struct allo_site *site, uint64_t birth_ns,
				uint64_t ns)
{
	uint64_t lifetime = ns > birth_ns ? ns - birth_ns : 0;

	if (__builtin_add_overflow(site->lifetime_ns, lifetime, &site->lifetime_ns)) {
		site->lifetime_ns = UINT64_MAX;
		heap->has_long_lifetimes = true;
	}
}

/* The site of a stack, whatever the file says. */
static inline uint32_t site_of(struct allo_heap *heap, uint32_t stack)
{
	if (stack < heap->site_count)
		return stack;
	heap->missing_stacks++;
	return 0;
}

/* Blocks. */

/* Ends what a block counts for, but for its lifetime. */
static inline void uncount(struct allo_heap *heap, const struct allo_live_block *block)
{
	struct allo_site *site = &heap->sites[block->stack];

	note_peak(heap, site);
	site->live_bytes -= block->size;
	site->live_blocks--;
	heap->live_bytes -= block->size;
	heap->live_blocks--;
}

/* Counts a new block; there is no overflow. */
static inline void count(struct allo_heap *heap, const struct allo_live_block *block, uint64_t ns)
{
	struct allo_site *site = &heap->sites[block->stack];

	note_peak(heap, site);
	site->alloc_bytes += block->size;
	site->alloc_blocks++;
	site->live_bytes += block->size;
	site->live_blocks++;
	if (site->live_bytes > site->max_bytes ||
	    (site->live_bytes == site->max_bytes && site->live_blocks > site->max_blocks)) {
		site->max_bytes = site->live_bytes;
		site->max_blocks = site->live_blocks;
	}
	heap->live_bytes += block->size;
	heap->live_blocks++;
	if (heap->live_bytes > heap->peak_bytes) {
		heap->peak_bytes = heap->live_bytes;
		heap->peak_blocks = heap->live_blocks;
		heap->peak_ns = ns;
		heap->peaks++;
	}
}

/* The address of a live block is allocated again: the free of it is late, or was lost. */
static void retire(struct allo_heap *heap, const struct allo_live_block *block, uint64_t ns)
{
	heap->retired[heap->retired_count++ % ALLO_RETIRED_KEPT] = (struct allo_retired_block){
		block->pointer, ns, block->birth_ns
	};
	heap->retired_ns = ns;
	add_lifetime(heap, &heap->sites[block->stack], block->birth_ns, ns);
	uncount(heap, block);
}

static inline bool may_be_late(const struct allo_heap *heap, uint64_t ns)
{
	return heap->retired_count > 0 && ns - heap->retired_ns <= late_ns;
}

/* The retired block that a thread's late free or realloc means, or NULL when it means the live one:
 * a thread's own events are in order, so it cannot mean one from before its own allocation. */
static struct allo_retired_block *find_retired(struct allo_heap *heap, uint64_t pointer,
					       const struct allo_live_block *live, uint32_t stream,
					       uint64_t ns)
{
	if (live && live->stream == stream)
		return NULL;
	for (size_t i = 0; i < ALLO_RETIRED_KEPT && i < heap->retired_count; i++) {
		struct allo_retired_block *retired = &heap->retired[i];

		if (retired->pointer == pointer && ns - retired->ns <= late_ns)
			return retired;
	}
	return NULL;
}

/* Puts a block into the table and counts it. */
static bool put(struct allo_heap *heap, const struct allo_live_block *block, uint64_t ns,
		struct allo_error *err)
{
	struct allo_live_block *place;

	/* At most five eighths full. */
	if (heap->live_blocks >= (heap->mask + 1) / 8 * 5 && !grow(heap, err))
		return false;
	place = find_place(heap, block->pointer);
	if (place->pointer != 0)
		retire(heap, place, ns);
	*place = *block;
	count(heap, block, ns);
	heap->last_allocated[block->stream] = block->pointer;
	return true;
}

/* Adds to all that was ever allocated; false when that does not fit. */
static inline bool add_total(struct allo_heap *heap, uint64_t size)
{
	if (__builtin_add_overflow(heap->total_bytes, size, &heap->total_bytes)) {
		heap->total_bytes -= size;
		heap->overflows++;
		return false;
	}
	heap->allocations++;
	return true;
}

static inline bool allocate(struct allo_heap *heap, const struct allo_event *event, uint32_t stream,
			    struct allo_error *err)
{
	struct allo_live_block block = { event->pointer, event->size, event->ns, 0, stream };

	if (event->pointer == 0 || !add_total(heap, event->size))
		return true;
	block.stack = site_of(heap, event->stack);
	return put(heap, &block, event->ns, err);
}

/* A free or realloc of a block that is not live, or not the live one. */
static bool is_late(struct allo_heap *heap, const struct allo_live_block *place, uint64_t pointer,
		    uint32_t stream, uint64_t ns, uint64_t *birth_ns)
{
	struct allo_retired_block *retired = find_retired(
		heap, pointer, place->pointer ? place : NULL, stream, ns);

	if (!retired)
		return false;
	*birth_ns = retired->birth_ns;
	retired->pointer = 0;
	heap->late_frees++;
	return true;
}

static inline void release(struct allo_heap *heap, const struct allo_event *event, uint32_t stream)
{
	struct allo_live_block *place = find_place(heap, event->pointer);
	uint64_t birth_ns;

	heap->frees++;
	if (may_be_late(heap, event->ns) &&
	    is_late(heap, place, event->pointer, stream, event->ns, &birth_ns))
		return;
	if (place->pointer == 0) {
		heap->unknown_frees++;
		return;
	}
	heap->sites[place->stack].temporary_blocks += heap->last_allocated[stream] ==
						      event->pointer;
	add_lifetime(heap, &heap->sites[place->stack], place->birth_ns, event->ns);
	uncount(heap, place);
	remove_place(heap, place);
}

static bool resize(struct allo_heap *heap, const struct allo_event *event, uint32_t stream,
		   struct allo_error *err)
{
	struct allo_live_block *old = find_place(heap, event->old);
	struct allo_live_block block = { event->pointer, event->size, event->ns, 0, stream };

	if (event->pointer == 0 || event->old == 0 || !add_total(heap, event->size))
		return true;
	block.stack = site_of(heap, event->stack);
	heap->resizes++;
	if (may_be_late(heap, event->ns) &&
	    is_late(heap, old, event->old, stream, event->ns, &block.birth_ns)) {
		/* It had ended, but for its birth. */
	} else if (old->pointer != 0) {
		block.birth_ns = old->birth_ns;
		uncount(heap, old);
		remove_place(heap, old);
	} else {
		heap->unknown_frees++;
	}
	return put(heap, &block, event->ns, err);
}

/* All of it. */

bool allo_heap_init(struct allo_heap *heap, const struct allo_recording *recording,
		    struct allo_error *err)
{
	*heap = (struct allo_heap){ .nodes = recording->nodes.at,
				    .site_count = recording->nodes.len,
				    .stream_count = recording->streams.len,
				    .seed = allo_hash_seed() };
	heap->sites = calloc(heap->site_count, sizeof(*heap->sites));
	heap->last_allocated = calloc(heap->stream_count + 1, sizeof(*heap->last_allocated));
	if (!heap->sites || !heap->last_allocated)
		return allo_fail_memory(err);
	return set_table(heap, FIRST_PLACES, err);
}

void allo_heap_done(struct allo_heap *heap)
{
	free(heap->table);
	free(heap->sites);
	free(heap->last_allocated);
	*heap = (struct allo_heap){ 0 };
}

/* Asks for the memory that an event will need: of a live block, and of the site of a new one. */
static inline void fetch(const struct allo_heap *heap, const struct allo_event *event)
{
	__builtin_prefetch(&heap->table[home_of(heap, event->pointer)], 1);
	if (event->stack < heap->site_count)
		__builtin_prefetch(&heap->sites[event->stack], 1);
}

bool allo_heap_apply(struct allo_heap *heap, const struct allo_event_span *span,
		     struct allo_error *err)
{
	uint32_t stream = (uint32_t)span->stream;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		bool ok = true;

		if (i + AHEAD < span->count)
			fetch(heap, event + AHEAD);
		switch (event->kind) {
		case ALLO_EVENT_ALLOC:
			ok = allocate(heap, event, stream, err);
			break;
		case ALLO_EVENT_FREE:
			release(heap, event, stream);
			break;
		case ALLO_EVENT_RESIZE:
			ok = resize(heap, event, stream, err);
			break;
		case ALLO_EVENT_RESIZE_FAILED:
			heap->failed_resizes++;
			break;
		}
		if (!ok)
			return false;
	}
	if (span->count > 0 && span->events[span->count - 1].ns > heap->last_ns)
		heap->last_ns = span->events[span->count - 1].ns;
	return true;
}

/* Adds up which stacks are not whole, or not there at all. */
static void count_partial(struct allo_heap *heap)
{
	for (size_t i = 0; i < heap->site_count; i++) {
		uint64_t blocks = heap->sites[i].alloc_blocks;

		if (i == 0 || heap->nodes[i].flags & ALLO_NODE_PARTIAL)
			heap->partial_stacks += blocks;
		if (i != 0 && !(heap->nodes[i].flags & ALLO_NODE_KNOWN))
			heap->missing_stacks += blocks;
	}
}

void allo_heap_end(struct allo_heap *heap, uint64_t end_ns)
{
	count_partial(heap);
	if (end_ns < heap->last_ns)
		end_ns = heap->last_ns;
	for (size_t i = 0; i <= heap->mask; i++) {
		const struct allo_live_block *block = &heap->table[i];

		if (block->pointer != 0)
			add_lifetime(heap, &heap->sites[block->stack], block->birth_ns, end_ns);
	}
}

bool allo_heap_replay(struct allo_heap *heap, struct allo_recording *recording,
		      uint64_t *event_count, struct allo_error *err)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	struct allo_event_span span;

	if (!allo_heap_init(heap, recording, err) || !allo_events_open(&events, recording, err))
		return false;
	while (allo_events_next(&events, &span, err)) {
		if (!allo_heap_apply(heap, &span, err))
			return false;
	}
	if (allo_failed(err))
		return false;
	allo_heap_end(heap, allo_recording_duration(recording));
	recording->lacks.missing_stacks = heap->missing_stacks;
	*event_count = events.count;
	return true;
}
