/* modes.c - decides for each block whether it is counted and whether it is recorded. */
#include "capture/modes.h"
#include "base/assert.h"
#include "capture/hooks/probes.h"
#include "capture/overhead.h"
#include "capture/sampler.h"

/* The address in the recording: blocks of different heaps may have the same one. */
static uint64_t address_in(uint32_t heap, const void *block)
{
	ALLO_ASSERT(heap < ALLO_HEAPS);
	return (uint64_t)block | (uint64_t)heap << 48;
}

static bool is_sampled(void)
{
	return allo_settings.rate != 0;
}

/* Decides whether a new block is recorded; advances the sampler. */
static bool is_recorded(struct allo_thread_state *thread, size_t size)
{
	if (is_sampled())
		return allo_sampler_takes(&thread->sampler, size);
	return allo_settings.mode == ALLO_EXACT;
}

/* Removes a block from the table of sizes, if it can be in there. */
static struct allo_size take(struct allo_thread_state *thread, uint32_t heap, const void *block)
{
	if (is_sampled()) {
		thread->sampler.freed_blocks++;
		if (!allo_settings.has_stats && !allo_size_may_be_sampled(heap, (uint64_t)block))
			return (struct allo_size){ 0 };
	} else if (!allo_settings.has_stats) {
		return (struct allo_size){ 0 };
	}
	return allo_size_take(heap, (uint64_t)block);
}

/* Records a new block. */
static void record(struct allo_thread_state *thread, uint32_t heap, const void *block, size_t size,
		   struct allo_hook_frame frame)
{
	uint64_t begin = allo_overhead_begin(), weighted;

	allo_record_alloc(thread, (void *)address_in(heap, block), size, frame);
	if (!is_sampled())
		return;
	weighted = allo_sampler_weighted(size);
	allo_probe_alloc(block, size, weighted);
	allo_overhead_note_sample(size, weighted);
	allo_sampler_taken(thread);
	allo_overhead_end(thread, begin);
}

/* Handles a new or resized block.  Returns whether it was recorded. */
static bool keep(struct allo_thread_state *thread, uint32_t heap, const void *block, size_t size,
		 struct allo_hook_frame frame)
{
	bool has_event = is_recorded(thread, size);

	if (allo_settings.has_stats || (has_event && is_sampled()))
		allo_size_put(heap, (uint64_t)block, size, has_event && is_sampled());
	if (has_event)
		record(thread, heap, block, size, frame);
	return has_event;
}

void allo_filtered_alloc(struct allo_thread_state *thread, uint32_t heap, const void *block,
			 size_t size, struct allo_hook_frame frame)
{
	uint64_t begin = allo_overhead_begin_other(thread);
	bool has_event;

	if (allo_settings.has_stats)
		allo_counts_alloc(thread, size);
	has_event = keep(thread, heap, block, size, frame);
	allo_overhead_end_other(thread, begin, has_event);
	if (has_event)
		allo_overhead_look(thread);
}

/* Whether the end of a block is recorded. */
static bool has_end_event(const struct allo_size *known)
{
	return is_sampled() ? known->is_sampled : allo_settings.mode == ALLO_EXACT;
}

void allo_filtered_free(struct allo_thread_state *thread, uint32_t heap, const void *block)
{
	uint64_t begin = allo_overhead_begin_other(thread);
	struct allo_size known = take(thread, heap, block);

	if (known.is_known && allo_settings.has_stats)
		allo_counts_free(thread, known.size);
	if (has_end_event(&known)) {
		uint64_t begin_event = allo_overhead_begin();

		allo_record_free(thread, (void *)address_in(heap, block), 0);
		if (is_sampled())
			allo_probe_free(block);
		allo_overhead_end(thread, begin_event);
	}
	allo_overhead_end_other(thread, begin, known.is_sampled);
}

void allo_filtered_resize(struct allo_thread_state *thread, uint32_t heap, const void *block)
{
	uint64_t begin = allo_overhead_begin_other(thread);

	thread->resized = (struct allo_resized){ block, { 0 } };
	if (!block)
		return;
	thread->resized.known = take(thread, heap, block);
	if (has_end_event(&thread->resized.known))
		allo_record_resize(thread, (void *)address_in(heap, block));
	allo_overhead_end_other(thread, begin, thread->resized.known.is_sampled);
}

/* Undoes take() after a failed resize. */
static void put_back(struct allo_thread_state *thread, uint32_t heap,
		     const struct allo_resized *old)
{
	if (is_sampled())
		thread->sampler.freed_blocks--;
	if (old->known.is_known)
		allo_size_put(heap, (uint64_t)old->block, old->known.size, old->known.is_sampled);
}

static void count_resized(struct allo_thread_state *thread, const struct allo_size *old,
			  size_t size)
{
	if (old->is_known)
		allo_counts_resize(thread, old->size, size);
	else
		allo_counts_alloc(thread, size);
}

/* The block is `moved` now.  Returns whether it was recorded. */
static bool keep_resized(struct allo_thread_state *thread, uint32_t heap, const void *moved,
			 size_t size, struct allo_hook_frame frame, const struct allo_resized *old)
{
	bool is_open = old->block && has_end_event(&old->known), has_event;

	if (allo_settings.has_stats)
		count_resized(thread, &old->known, size);
	has_event = keep(thread, heap, moved, size, frame);
	if (!has_event && is_open)
		allo_record_outcome(thread, ALLO_ESCAPE_GONE);
	if (is_open && is_sampled())
		allo_probe_free(old->block);
	return has_event;
}

void allo_filtered_resized(struct allo_thread_state *thread, uint32_t heap, const void *moved,
			   size_t size, struct allo_hook_frame frame)
{
	struct allo_resized old = thread->resized;
	bool is_open = old.block && has_end_event(&old.known);

	if (moved && size >= allo_settings.min_size) {
		uint64_t begin = allo_overhead_begin_other(thread);
		bool has_event = keep_resized(thread, heap, moved, size, frame, &old);

		allo_overhead_end_other(thread, begin, has_event || is_open);
		if (has_event)
			allo_overhead_look(thread);
		return;
	}
	if (!old.block)
		return;
	if (!moved && size != 0) {
		put_back(thread, heap, &old);
		if (is_open)
			allo_record_outcome(thread, ALLO_ESCAPE_FAILED);
		return;
	}
	if (old.known.is_known && allo_settings.has_stats)
		allo_counts_free(thread, old.known.size);
	if (is_open)
		allo_record_outcome(thread, ALLO_ESCAPE_GONE);
}
