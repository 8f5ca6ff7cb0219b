/* summary.c - see summary.h. */
#include "replay/summary.h"

#include "base/defer.h"
#include "replay/heap.h"

double allo_summary_complete_percent(const struct allo_summary *summary)
{
	if (summary->allocations == 0)
		return 100;
	return 100.0 * (double)summary->complete_allocations / (double)summary->allocations;
}

static uint64_t count_threads(const struct allo_recording *recording)
{
	uint64_t count = 0;

	for (size_t i = 0; i < recording->streams.len; i++)
		count += recording->streams.at[i].kind == ALLO_STREAM_EVENTS;
	return count;
}

static uint64_t count_sites(const struct allo_heap *heap)
{
	uint64_t count = 0;

	for (size_t i = 0; i < heap->site_count; i++)
		count += heap->sites[i].alloc_blocks > 0;
	return count;
}

void allo_summary_of_heap(struct allo_summary *summary, const struct allo_recording *recording,
			  const struct allo_heap *heap, uint64_t events)
{
	uint64_t duration = allo_recording_duration(recording);

	*summary = (struct allo_summary){
		.events = events,
		.allocations = heap->allocations,
		.resizes = heap->resizes,
		.frees = heap->frees,
		.failed_resizes = heap->failed_resizes,
		.unknown_frees = heap->unknown_frees,
		.total_bytes = heap->total_bytes,
		.peak_bytes = heap->peak_bytes,
		.peak_blocks = heap->peak_blocks,
		.peak_ns = heap->peak_ns,
		.end_bytes = heap->live_bytes,
		.end_blocks = heap->live_blocks,
		.threads = count_threads(recording),
		.stacks = count_sites(heap),
		.complete_allocations = heap->allocations - heap->partial_stacks,
		.dropped_events = recording->lacks.dropped_events,
		.lost_blocks = recording->head.counts.lost_blocks,
		.missing_blocks = recording->lacks.missing_blocks,
		.duration_ns = duration > heap->last_ns ? duration : heap->last_ns,
		.file_bytes = recording->size,
		.end = recording->head.end,
		.is_cut = recording->lacks.is_cut,
		.counts = recording->head.counts,
	};
}

bool allo_recording_summary(const char *path, struct allo_summary *summary,
			    const struct allo_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	uint64_t events;

	if (!allo_recording_open_file(&recording, path, progress, err))
		return false;
	if (recording.stored_summary) {
		*summary = *recording.stored_summary;
		summary->file_bytes = recording.size;
		return true;
	}
	if (!allo_heap_replay(&heap, &recording, &events, err))
		return false;
	allo_summary_of_heap(summary, &recording, &heap, events);
	return true;
}
