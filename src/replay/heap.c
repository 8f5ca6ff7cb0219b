/* heap.c - see heap.h. */
#include "replay/heap.h"

#include "base/defer.h"

#include <stdlib.h>

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

/* A block ends; a realloc's lives on. */
static inline void count_ended(struct allo_heap *heap, const struct allo_outcome *ended,
			       bool lives_on, uint64_t ns)
{
	struct allo_site *site = &heap->sites[ended->stack];

	note_peak(heap, site);
	site->live_bytes -= ended->size;
	site->live_blocks--;
	site->temporary_blocks += (ended->flags & ALLO_OUTCOME_TEMPORARY) != 0;
	if (!lives_on)
		add_lifetime(heap, site, ended->birth_ns, ns);
}

static inline void count_created(struct allo_heap *heap, const struct allo_outcome *outcome,
				 uint64_t size)
{
	struct allo_site *site = &heap->sites[outcome->new_stack];

	note_peak(heap, site);
	site->alloc_bytes += size;
	site->live_bytes += size;
	site->live_blocks++;
	if (site->live_bytes > site->max_bytes ||
	    (site->live_bytes == site->max_bytes && site->live_blocks > site->max_blocks)) {
		site->max_bytes = site->live_bytes;
		site->max_blocks = site->live_blocks;
	}
	heap->peaks += (outcome->flags & ALLO_OUTCOME_PEAK) != 0;
}

static void count_outcomes(struct allo_heap *heap, const struct allo_event_span *span)
{
	const struct allo_outcome *retired = heap->outcomes.retired;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &heap->outcomes.at[i];

		if ((outcome->flags & (ALLO_OUTCOME_ENDED | ALLO_OUTCOME_LATE)) ==
			    ALLO_OUTCOME_ENDED &&
		    event->kind != ALLO_EVENT_RESIZE_FAILED)
			count_ended(heap, outcome, event->kind == ALLO_EVENT_RESIZE, event->ns);
		if (outcome->flags & ALLO_OUTCOME_RETIRED)
			count_ended(heap, retired++, false, event->ns);
		if (outcome->flags & ALLO_OUTCOME_CREATED)
			count_created(heap, outcome, event->size);
	}
}

bool allo_heap_init(struct allo_heap *heap, const struct allo_recording *recording,
		    struct allo_error *err)
{
	memset(heap, 0, offsetof(struct allo_heap, outcomes));
	if (!allo_live_blocks_init(&heap->blocks, recording, err))
		return false;
	heap->sites = calloc(heap->blocks.stack_count, sizeof(*heap->sites));
	return heap->sites || allo_fail_memory(err);
}

void allo_heap_done(struct allo_heap *heap)
{
	allo_live_blocks_done(&heap->blocks);
	free(heap->sites);
	heap->sites = NULL;
}

bool allo_heap_apply(struct allo_heap *heap, const struct allo_event_span *span,
		     struct allo_error *err)
{
	if (!allo_live_blocks_apply(&heap->blocks, span, &heap->outcomes, err))
		return false;
	count_outcomes(heap, span);
	return true;
}

void allo_heap_end(struct allo_heap *heap, uint64_t end_ns)
{
	allo_live_blocks_end(&heap->blocks);
	if (end_ns < heap->blocks.last_ns)
		end_ns = heap->blocks.last_ns;
	for (size_t i = 0; i <= heap->blocks.table.mask; i++) {
		const struct allo_live_block *block = &heap->blocks.table.at[i];

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
	recording->lacks.missing_stacks += heap->blocks.missing_stacks;
	*event_count = events.count;
	return true;
}
