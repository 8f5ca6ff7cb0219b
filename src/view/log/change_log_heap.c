/* change_log_heap.c - the heap of a window: by sums, or by counting changes where sums do not do.
 */
#include "view/log/change_log.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/recording/resident.h"
#include "view/log/change_log_stored.h"
#include "view/log/live_changes.h"
#include "view/log/log_replay.h"
#include "view/log/log_steps.h"
#include "view/log/window_sums.h"

#include <stdlib.h>

static bool needs_replay(const struct allo_change_log *log, const struct allo_heap_options *options)
{
	return log->is_walked || options->by_thread || options->window.threads;
}

bool allo_change_log_answers(const struct allo_change_log *log,
			     const struct allo_heap_options *options)
{
	bool by_threads = options->by_thread || options->window.threads;

	/* A sampled recording has one way: see heap.h. */
	if (!allo_is_sampled(&log->weighing) &&
	    (options->keeps_first != log->keeps_first || (log->keeps_first && by_threads)))
		return false;
	return !options->window.threads ||
	       (log->last_ns <= allo_recording_duration(log->recording) &&
		(log->recording->is_packed || !log->has_retired));
}

/* The heap. */

static bool set_keys(struct allo_heap *heap, const struct allo_change_log *log,
		     struct allo_error *err)
{
	if (!allo_recording_has_labels(log->recording))
		return true;
	heap->ids = calloc(1, sizeof(*heap->ids));
	return (heap->ids &&
		allo_vec_append(&heap->ids->keys.at, log->keys.at.at, log->keys.at.len)) ||
	       allo_fail_memory(err);
}

static bool make_heap(struct allo_heap *heap, const struct allo_change_log *log,
		      struct allo_error *err)
{
	size_t count = log->site_count;

	allo_heap_done(heap);
	*heap = (struct allo_heap){ .blocks.stack_count = count };
	heap->blocks.made = calloc(count, sizeof(*heap->blocks.made));
	if (count <= SIZE_MAX / sizeof(*heap->sites))
		heap->sites = aligned_alloc(sizeof(*heap->sites), count * sizeof(*heap->sites));
	if (!heap->blocks.made || !heap->sites)
		return allo_fail_memory(err);
	memset(heap->sites, 0, count * sizeof(*heap->sites));
	return set_keys(heap, log, err);
}

/* Whether a heap was made for the sites of the log, and not by thread. */
static bool fits(const struct allo_heap *heap, const struct allo_change_log *log)
{
	size_t keys = heap->ids ? heap->ids->keys.at.len : 0;

	return heap->sites && heap->blocks.nodes == log->recording->nodes.at &&
	       heap->blocks.stack_count == log->site_count && !heap->weighed &&
	       !heap->blocks.last_allocated && keys == log->keys.at.len;
}

/* Makes a heap, or resets all but the sites. */
static bool begin(struct allo_heap *heap, const struct allo_change_log *log, uint64_t from_ns,
		  struct allo_error *err)
{
	uint64_t *made;

	if (!fits(heap, log) && !make_heap(heap, log, err))
		return false;
	made = heap->blocks.made;
	heap->blocks = (struct allo_live_blocks){ .made = made,
						  .stack_count = log->site_count,
						  .nodes = log->recording->nodes.at,
						  .file = log->recording->name,
						  .watch_ns = UINT64_MAX,
						  .watched_bytes = UINT64_MAX };
	heap->has_long_lifetimes = false;
	heap->from_ns = from_ns;
	heap->before.len = heap->births.len = 0;
	allo_own_events_restart(&heap->own);
	return true;
}

/* Totals. */

static bool take_own(struct allo_heap *heap, const struct allo_log_aside *aside,
		     struct allo_error *err)
{
	struct allo_site_key key = { .stack = aside->stack,
				     .labels = aside->labels,
				     .name = aside->note };

	heap->blocks.own_events++;
	if (__builtin_add_overflow(heap->blocks.own_units, aside->units, &heap->blocks.own_units))
		heap->blocks.own_units = UINT64_MAX;
	return allo_own_events_add(&heap->own, &key, (struct allo_own_sum){ 1, aside->units }, err);
}

/* Counts the asides of a window by kind, and sums up the program's own events. */
static bool count_asides(const struct allo_change_log *log, const struct allo_window *window,
			 struct allo_heap *heap, uint64_t *counts, struct allo_error *err)
{
	size_t end = window->to_ns > 0 ? allo_log_find_aside(log, window->to_ns) : log->asides.len;

	for (size_t i = allo_log_find_aside(log, window->from_ns); i < end; i++) {
		const struct allo_log_aside *aside = &log->asides.at[i];

		counts[aside->kind]++;
		if (aside->kind == ALLO_ASIDE_OWN && !take_own(heap, aside, err))
			return false;
	}
	return true;
}

static void set_totals(struct allo_live_blocks *blocks, const struct allo_window_counts *changes,
		       const uint64_t *asides, uint64_t *events)
{
	uint64_t freed = changes->ended - changes->ended_by_resize - asides[ALLO_ASIDE_RETIRED];

	blocks->resizes = changes->made_by_resize;
	blocks->unknown_frees = asides[ALLO_ASIDE_UNKNOWN_FREE] + asides[ALLO_ASIDE_UNKNOWN_OLD];
	blocks->late_frees = asides[ALLO_ASIDE_LATE_FREE] + asides[ALLO_ASIDE_LATE_OLD];
	blocks->frees = freed + asides[ALLO_ASIDE_UNKNOWN_FREE] + asides[ALLO_ASIDE_LATE_FREE];
	blocks->failed_resizes = asides[ALLO_ASIDE_FAILED_RESIZE];
	blocks->missing_stacks = asides[ALLO_ASIDE_MISSING_STACK];
	blocks->marks = asides[ALLO_ASIDE_MARK];
	*events = blocks->allocations + blocks->frees + blocks->failed_resizes +
		  asides[ALLO_ASIDE_NOTHING] + blocks->marks + blocks->own_events;
}

/* The live bytes when the resident memory was largest, or at the end of the window. */
static void set_watched(const struct allo_change_log *log, uint64_t to_ns,
			struct allo_live_blocks *blocks)
{
	uint64_t watch_ns = allo_resident_of(log->recording).peak_ns;

	if (watch_ns == UINT64_MAX)
		return;
	blocks->watched_bytes = to_ns > 0 && watch_ns > to_ns
					? blocks->bytes
					: allo_change_log_live(log, watch_ns).bytes;
}

static void end_stacks(const struct allo_change_log *log, struct allo_heap *heap)
{
	for (size_t i = 0; i < log->sites.len; i++) {
		uint32_t site = log->sites.at[i];

		allo_live_blocks_end_stack(&heap->blocks, allo_heap_stack(heap, site),
					   heap->blocks.made[site]);
	}
}

static bool list_births(const struct allo_change_log *log, uint64_t to_ns, struct allo_heap *heap,
			struct allo_error *err)
{
	ALLO_DEFER(allo_live_changes_done) struct allo_live_changes live = { 0 };
	ALLO_VEC(struct allo_log_birth_place) births = { 0 };
	bool ok = true;

	if (!allo_live_changes_at(&live, log, allo_log_end(log, to_ns), err))
		return false;
	for (uint32_t i = 0; ok && allo_live_changes_next(&live, &i); i++) {
		const struct allo_log_segment *segment =
			&log->segments.at[i / ALLO_SEGMENT_CHANGES];
		uint32_t class = segment->refs[i % ALLO_SEGMENT_CHANGES];

		ok = allo_vec_add(
			&births,
			((struct allo_log_birth_place){ log->sites.at[segment->class_sites[class]],
							allo_log_birth(log, i) }),
			err);
	}
	ok = ok && allo_log_set_births(log, heap, births.at, births.len, err);
	allo_vec_done(&births);
	return ok;
}

static bool sum_up(const struct allo_change_log *log, const struct allo_heap_options *options,
		   uint64_t end_ns, struct allo_heap *heap, uint64_t *events,
		   struct allo_error *err)
{
	const struct allo_window *window = &options->window;
	struct allo_window_counts changes = { 0 };
	uint64_t asides[ALLO_ASIDE_KINDS] = { 0 };

	if (!begin(heap, log, window->from_ns, err))
		return false;
	heap->blocks.peak_ns = window->from_ns;
	if (log->segments.len > 0 && !allo_window_sums(log, options, end_ns, heap, &changes, err))
		return false;
	if (!count_asides(log, window, heap, asides, err))
		return false;
	set_totals(&heap->blocks, &changes, asides, events);
	set_watched(log, window->to_ns, &heap->blocks);
	end_stacks(log, heap);
	if (options->wants_births && log->segments.len > 0 &&
	    !list_births(log, window->to_ns, heap, err))
		return false;
	return !options->timeline || allo_log_history(log, window, end_ns, options->timeline, err);
}

static bool copy_marks(const struct allo_change_log *log, const struct allo_window *window,
		       struct allo_marks *marks, struct allo_error *err)
{
	for (size_t i = 0; i < log->marks.list.len; i++) {
		const struct allo_mark *mark = &log->marks.list.at[i];

		if (mark->ns >= window->from_ns &&
		    (window->to_ns == 0 || mark->ns < window->to_ns) &&
		    !allo_vec_add(&marks->list, *mark, err))
			return false;
	}
	return true;
}

/* The whole segment with the highest total before another segment. */
static size_t fullest_before(const struct allo_change_log *log, size_t end)
{
	size_t fullest = 0;

	for (size_t i = 1; i < end; i++) {
		if (log->segments.at[i].max_bytes > log->segments.at[fullest].max_bytes)
			fullest = i;
	}
	return fullest;
}

/* Gets the columns of the segments that a request reads. */
static bool need_columns(const struct allo_change_log *log, const struct allo_heap_options *options,
			 struct allo_error *err)
{
	const struct allo_window *window = &options->window;
	size_t from = allo_log_segment_at(log, window->from_ns), fullest;
	size_t to = allo_log_segment_at(log, window->to_ns > 0 ? window->to_ns : UINT64_MAX);
	size_t watched = allo_log_segment_at(log, allo_resident_of(log->recording).peak_ns);

	if (needs_replay(log, options) || options->wants_births || options->timeline)
		return allo_log_need(log, 0, to, err);
	if (!allo_log_need(log, to, to, err) || !allo_log_need(log, watched, watched, err))
		return false;
	if (window->from_ns > 0)
		return allo_log_need(log, from, to, err);
	fullest = fullest_before(log, to);
	return allo_log_need(log, fullest, fullest, err) && allo_log_need(log, 0, 0, err);
}

bool allo_change_log_heap(const struct allo_change_log *log,
			  const struct allo_heap_options *options, struct allo_heap *heap,
			  uint64_t *event_count, struct allo_error *err)
{
	const struct allo_window *window = &options->window;
	uint64_t last_ns, end_ns, events = 0;

	ALLO_ASSERT(allo_is_sampled(&log->weighing) || options->keeps_first == log->keeps_first);
	if (!need_columns(log, options, err))
		return false;
	last_ns = allo_log_last_before(log, window->to_ns);
	end_ns = allo_window_end(window, log->recording, last_ns);
	if (needs_replay(log, options)) {
		allo_heap_done(heap);
		if (!allo_log_replay(log, options, end_ns, heap, &events, err))
			return false;
	} else if (!sum_up(log, options, end_ns, heap, &events, err)) {
		return false;
	}
	heap->blocks.last_ns = last_ns;
	if (event_count)
		*event_count = events;
	return !options->marks || copy_marks(log, window, options->marks, err);
}
