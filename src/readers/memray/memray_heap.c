/* memray_heap.c - events in batches for replay/heap.h; the list of mappings. */
#include "readers/memray/memray_heap.h"

#include "base/assert.h"
#include "replay/heap_samples.h"

/* Addresses of blocks are multiples of 8, so a mapping gets a name that no block has. */
static uint64_t name_of(uint64_t start)
{
	return start | 1;
}

bool allo_memray_heap_init(struct allo_memray_heap *heap, struct allo_error *err)
{
	if (!allo_heap_init(&heap->heap, &heap->shape, err))
		return false;
	/* A mapping that shrinks keeps the stack that made it. */
	heap->heap.blocks.keeps_first = true;
	return true;
}

void allo_memray_heap_done(struct allo_memray_heap *heap)
{
	allo_heap_done(&heap->heap);
	allo_vec_done(&heap->shape.nodes);
}

/* Makes room for stacks and threads that have come since. */
static bool cover(struct allo_memray_heap *heap, struct allo_error *err)
{
	size_t before = heap->shape.nodes.len;

	if (!allo_vec_extend(&heap->shape.nodes, heap->profile->stacks.len + 1, err))
		return false;
	for (size_t i = before; i < heap->shape.nodes.len; i++)
		heap->shape.nodes.at[i].flags = ALLO_NODE_KNOWN;
	heap->shape.source.stored = heap->input_bytes;
	return allo_heap_grow(&heap->heap, &heap->shape, heap->threads, err);
}

static bool flush(struct allo_memray_heap *heap, struct allo_error *err)
{
	struct allo_event_span span = { heap->events, heap->count };

	heap->count = 0;
	return span.count == 0 ||
	       (cover(heap, err) &&
		allo_heap_apply_with_outcomes(&heap->heap, &span, &heap->outcomes, err));
}

static bool add_event(struct allo_memray_heap *heap, struct allo_event event,
		      struct allo_error *err)
{
	event.ns = heap->ns;
	heap->events[heap->count++] = event;
	return heap->count < ALLO_EVENTS_AT_ONCE || flush(heap, err);
}

bool allo_memray_alloc(struct allo_memray_heap *heap, uint32_t thread, uint64_t address,
		       uint64_t size, allo_stack_id stack, struct allo_error *err)
{
	return add_event(heap,
			 (struct allo_event){ .pointer = address,
					      .size = size,
					      .stack = stack,
					      .stream = thread & ALLO_STREAMS_MAX,
					      .kind = ALLO_EVENT_ALLOC },
			 err);
}

bool allo_memray_free(struct allo_memray_heap *heap, uint32_t thread, uint64_t address,
		      struct allo_error *err)
{
	return add_event(heap,
			 (struct allo_event){ .pointer = address,
					      .stream = thread & ALLO_STREAMS_MAX,
					      .kind = ALLO_EVENT_FREE },
			 err);
}

/* Mappings. */

/* Index of the first mapping that ends after an address. */
static size_t find_mapping(const struct allo_memray_heap *heap, uint64_t address)
{
	size_t low = 0, high = heap->mapping_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (heap->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert_mapping(struct allo_memray_heap *heap, size_t at,
			   const struct allo_memray_mapping *mapping)
{
	if (heap->mapping_count == ALLO_MEMRAY_MAPPINGS) {
		heap->has_others = true;
		return;
	}
	memmove(&heap->mappings[at + 1], &heap->mappings[at],
		(heap->mapping_count - at) * sizeof(*heap->mappings));
	heap->mappings[at] = *mapping;
	heap->mapping_count++;
}

static void remove_mapping(struct allo_memray_heap *heap, size_t at)
{
	heap->mapping_count--;
	memmove(&heap->mappings[at], &heap->mappings[at + 1],
		(heap->mapping_count - at) * sizeof(*heap->mappings));
}

bool allo_memray_map(struct allo_memray_heap *heap, uint32_t thread, uint64_t address,
		     uint64_t size, allo_stack_id stack, struct allo_error *err)
{
	struct allo_memray_mapping mapping = { address, 0, stack, thread };

	if (__builtin_add_overflow(address, size, &mapping.end))
		mapping.end = UINT64_MAX;
	/* mmap over a mapping replaces it. */
	if (!allo_memray_unmap(heap, thread, address, size, err))
		return false;
	insert_mapping(heap, find_mapping(heap, address), &mapping);
	return allo_memray_alloc(heap, thread, name_of(address), size, stack, err);
}

/* What is left of a mapping: it becomes a shorter one, at the same or another address. */
static bool resize(struct allo_memray_heap *heap, const struct allo_memray_mapping *old,
		   const struct allo_memray_mapping *left, struct allo_error *err)
{
	return add_event(heap,
			 (struct allo_event){ .pointer = name_of(left->start),
					      .old = name_of(old->start),
					      .size = left->end - left->start,
					      .stack = old->stack,
					      .stream = old->thread & ALLO_STREAMS_MAX,
					      .kind = ALLO_EVENT_RESIZE },
			 err);
}

/* Takes [start, end) out of a mapping that overlaps it.  *at moves on if a part is left before. */
static bool cut_mapping(struct allo_memray_heap *heap, size_t *at, uint32_t thread, uint64_t start,
			uint64_t end, struct allo_error *err)
{
	const struct allo_memray_mapping old = heap->mappings[*at];
	struct allo_memray_mapping before = old, after = old;

	ALLO_ASSERT(old.start < end && old.end > start);
	before.end = start;
	after.start = end;
	remove_mapping(heap, *at);
	if (old.end > end)
		insert_mapping(heap, *at, &after);
	if (old.start < start)
		insert_mapping(heap, (*at)++, &before);
	if (old.start < start)
		return resize(heap, &old, &before, err) &&
		       (old.end <= end || allo_memray_alloc(heap, old.thread, name_of(end),
							    old.end - end, old.stack, err));
	if (old.end > end)
		return resize(heap, &old, &after, err);
	return allo_memray_free(heap, thread, name_of(old.start), err);
}

bool allo_memray_unmap(struct allo_memray_heap *heap, uint32_t thread, uint64_t address,
		       uint64_t size, struct allo_error *err)
{
	size_t at = find_mapping(heap, address);
	uint64_t end;

	if (__builtin_add_overflow(address, size, &end))
		end = UINT64_MAX;
	if (heap->has_others &&
	    (at == heap->mapping_count || heap->mappings[at].start != address) &&
	    !allo_memray_free(heap, thread, name_of(address), err))
		return false;
	while (at < heap->mapping_count && heap->mappings[at].start < end) {
		if (!cut_mapping(heap, &at, thread, address, end, err))
			return false;
	}
	return true;
}

/* The end. */

bool allo_memray_heap_end(struct allo_memray_heap *heap, struct allo_error *err)
{
	struct allo_profile *profile = heap->profile;
	struct allo_heap_sums sums = { 0 };

	if (!flush(heap, err) || !cover(heap, err))
		return false;
	allo_heap_end(&heap->heap, heap->ns);
	allo_note_many(&profile->notes, ALLO_NOTE_SATURATED, heap->heap.blocks.overflows,
		       ALLO_NOWHERE);
	if (!allo_heap_add_metrics(profile, &heap->heap, ALLO_AT_NONE, err))
		return false;
	for (size_t i = 0; i == 0 || i < profile->stacks.len; i++) {
		if (!allo_heap_add_sample(profile, &heap->heap, i, ALLO_AT_NONE, (allo_stack_id)i,
					  0, &sums, err))
			return false;
	}
	profile->meta.peak_time = heap->heap.blocks.peak_ns;
	profile->meta.default_metric = allo_heap_default_metric(ALLO_AT_NONE);
	return true;
}
