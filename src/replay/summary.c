/* summary.c - the totals of the live blocks after the last event. */
#include "replay/summary.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/live_blocks.h"
#include "replay/ring/earlier.h"

double allo_summary_complete_percent(const struct allo_summary *summary)
{
	if (summary->recorded_allocations == 0)
		return 100;
	return 100.0 * (double)summary->complete_allocations /
	       (double)summary->recorded_allocations;
}

bool allo_summary_is_estimated(const struct allo_summary *summary)
{
	struct allo_weighing weighing = allo_weighing_by(&summary->sampling);

	return allo_is_sampled(&weighing);
}

uint64_t allo_summary_lost_pages(const struct allo_summary *summary)
{
	bool is_early = summary->end != ALLO_END_NONE && summary->end != ALLO_END_EXIT;

	return is_early && summary->lost_pages <= summary->threads ? 0 : summary->lost_pages;
}

static uint64_t written_pages(const struct allo_wire_head *head)
{
	uint64_t first = allo_wire_first_slot(&head->ring);

	return head->slots > first ? head->slots - first : 0;
}

static uint64_t count_stacks(const struct allo_live_blocks *blocks)
{
	uint64_t count = 0;

	for (size_t i = 0; i < blocks->stack_count; i++)
		count += blocks->made[i] > 0;
	return count;
}

/* A heap from the cache has not seen the watched time, but its recording has a summary. */
static void set_live(struct allo_summary *summary, const struct allo_recording *recording,
		     const struct allo_live_blocks *blocks)
{
	if (recording->stored_summary)
		summary->resident.live_bytes = recording->stored_summary->resident.live_bytes;
	else
		summary->resident.live_bytes = allo_live_blocks_watched(blocks);
}

void allo_summary_of_blocks(struct allo_summary *summary, const struct allo_recording *recording,
			    const struct allo_live_blocks *blocks, uint64_t events)
{
	uint64_t duration = allo_recording_duration(recording);
	struct allo_block_totals totals = allo_live_blocks_totals(blocks);

	ALLO_ASSERT(blocks->partial_stacks <= blocks->allocations);
	*summary = (struct allo_summary){
		.events = events,
		.allocations = totals.allocations,
		.resizes = blocks->resizes,
		.frees = totals.frees,
		.failed_resizes = blocks->failed_resizes,
		.unknown_frees = blocks->unknown_frees,
		.marks = blocks->marks,
		.own_events = blocks->own_events,
		.own_units = blocks->own_units,
		.total_bytes = totals.total_bytes,
		.peak_bytes = totals.peak_bytes,
		.peak_blocks = totals.peak_blocks,
		.peak_ns = blocks->peak_ns,
		.end_bytes = totals.bytes,
		.end_blocks = totals.blocks,
		.threads = allo_recording_thread_count(recording),
		.stacks = count_stacks(blocks),
		.complete_allocations = blocks->allocations - blocks->partial_stacks,
		.recorded_allocations = blocks->allocations,
		.dropped_events = recording->gaps.dropped_events,
		.lost_pages = recording->head.counts.lost_pages,
		.missing_pages = recording->gaps.missing_pages,
		.written_pages = written_pages(&recording->head),
		.duration_ns = duration > blocks->last_ns ? duration : blocks->last_ns,
		.file_bytes = allo_recording_file_bytes(recording),
		.end = recording->head.end,
		.is_cut = recording->gaps.is_cut,
		.counts = recording->head.counts,
		.sampling = recording->head.sampling,
		.overhead = recording->head.overhead,
		.losses = recording->head.losses,
		.missing_allocators = allo_recording_count_allocators(recording, false),
		.has_own_allocator = allo_recording_has_own_allocator(recording),
		.resident = allo_resident_of(recording),
	};
	set_live(summary, recording, blocks);
}

static bool replay(struct allo_live_blocks *blocks, struct allo_recording *recording,
		   uint64_t *event_count, struct allo_error *err)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	struct allo_event_span span, part;
	struct allo_outcomes outcomes;

	if (!allo_live_blocks_init(blocks, recording, err) ||
	    !allo_events_open(&events, recording, err))
		return false;
	allo_live_blocks_add_totals(blocks, recording);
	allo_events_read_ahead(&events);
	while (allo_events_next(&events, &span, err)) {
		while (allo_live_blocks_cut(blocks, &span, &part)) {
			if (!allo_live_blocks_apply(blocks, &part, &outcomes, err))
				return false;
		}
	}
	allo_live_blocks_add_made(blocks, recording);
	allo_live_blocks_end(blocks);
	*event_count = events.count + (recording->earlier ? recording->earlier->totals.events : 0);
	return !allo_failed(err);
}

bool allo_recording_sum_up(struct allo_recording *recording, struct allo_summary *summary,
			   struct allo_error *err)
{
	ALLO_DEFER(allo_live_blocks_done) struct allo_live_blocks blocks = { 0 };
	uint64_t events;

	if (recording->stored_summary) {
		*summary = *recording->stored_summary;
		summary->file_bytes = allo_recording_file_bytes(recording);
		summary->sampling = recording->head.sampling;
		summary->overhead = recording->head.overhead;
		summary->losses = recording->head.losses;
		summary->missing_allocators = allo_recording_count_allocators(recording, false);
		summary->has_own_allocator = allo_recording_has_own_allocator(recording);
		summary->resident = allo_resident_of(recording);
		summary->resident.live_bytes = recording->stored_summary->resident.live_bytes;
		return true;
	}
	if (!replay(&blocks, recording, &events, err))
		return false;
	allo_summary_of_blocks(summary, recording, &blocks, events);
	return true;
}

bool allo_recording_summary(const char *path, struct allo_summary *summary,
			    const struct allo_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };

	return allo_recording_open_file(&recording, path, progress, err) &&
	       allo_recording_sum_up(&recording, summary, err);
}
