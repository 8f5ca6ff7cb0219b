/*
 * log_steps.c - the heap over time from a change log.
 *
 * Pages of 1,024 changes have their own maxima and sums, so a step reads single changes only at its
 * two ends.
 */
#include "view/log/log_steps.h"

#include "base/defer.h"
#include "view/log/change_log_stored.h"
#include "view/log/log_replay.h"

struct totals {
	const struct allo_change_log *log;
	uint64_t bytes, blocks; /* live now */
	/* The peak so far, and the place after the change that reaches it, or before its page. */
	uint64_t peak_bytes;
	struct allo_log_place peak;
	bool has_peak, is_in_page;
};

static void note_peak(struct totals *totals, uint64_t bytes, struct allo_log_place place,
		      bool is_in_page)
{
	if (bytes > totals->peak_bytes) {
		totals->peak_bytes = bytes;
		totals->peak = place;
		totals->is_in_page = is_in_page;
		totals->has_peak = true;
	}
}

static void take_change(struct totals *totals, size_t index, uint32_t at,
			struct allo_timeline_step *step)
{
	const struct allo_log_segment *segment = &totals->log->segments.at[index];
	uint32_t class = allo_segment_class(segment, at);
	uint64_t size = allo_log_size(totals->log, segment->class_sizes[class]);

	if (allo_log_bit(segment->ended, at)) {
		totals->bytes -= size;
		totals->blocks--;
		step->frees++;
		step->temporary_blocks += allo_log_bit(segment->temporary, at);
		if (totals->bytes < step->min_bytes)
			step->min_bytes = totals->bytes;
		return;
	}
	totals->bytes += size;
	totals->blocks++;
	step->allocations++;
	step->alloc_bytes += size;
	if (totals->bytes > step->max_bytes)
		step->max_bytes = totals->bytes;
	if (totals->blocks > step->max_blocks)
		step->max_blocks = totals->blocks;
	note_peak(totals, totals->bytes, (struct allo_log_place){ index, at + 1 }, false);
}

/* Takes the page from `at` up to `end`. */
static void take_page(struct totals *totals, size_t index, uint32_t at, uint32_t end,
		      struct allo_timeline_step *step)
{
	const struct allo_log_segment *segment = &totals->log->segments.at[index];
	const struct allo_log_page *page = &segment->pages[at / ALLO_PAGE_CHANGES];
	bool is_last = end == segment->shape.count;

	note_peak(totals, page->max_bytes, (struct allo_log_place){ index, at }, true);
	if (page->max_bytes > step->max_bytes)
		step->max_bytes = page->max_bytes;
	if (page->max_blocks > step->max_blocks)
		step->max_blocks = page->max_blocks;
	if (page->min_bytes < step->min_bytes)
		step->min_bytes = page->min_bytes;
	step->allocations += page->made;
	step->alloc_bytes += page->alloc_bytes;
	step->frees += end - at - page->made;
	step->temporary_blocks += page->temporary;
	totals->bytes = is_last ? segment->end_bytes : page[1].bytes;
	totals->blocks = is_last ? segment->end_blocks : page[1].blocks;
}

/* Takes a part of a segment. */
static void take_part(struct totals *totals, size_t index, uint32_t from, uint32_t to,
		      struct allo_timeline_step *step)
{
	uint32_t count = totals->log->segments.at[index].shape.count;

	while (from < to) {
		uint32_t end = (from / ALLO_PAGE_CHANGES + 1) * ALLO_PAGE_CHANGES;

		if (end > count)
			end = count;
		if (from % ALLO_PAGE_CHANGES == 0 && end <= to) {
			take_page(totals, index, from, end, step);
			from = end;
			continue;
		}
		for (; from < end && from < to; from++)
			take_change(totals, index, from, step);
	}
}

static void take_range(struct totals *totals, struct allo_log_place from, struct allo_log_place to,
		       struct allo_timeline_step *step)
{
	*step = (struct allo_timeline_step){ .max_bytes = totals->bytes,
					     .max_blocks = totals->blocks,
					     .min_bytes = totals->bytes };
	for (size_t i = from.segment; i <= to.segment; i++)
		take_part(totals, i, i == from.segment ? from.at : 0,
			  i == to.segment ? to.at : totals->log->segments.at[i].shape.count, step);
	step->end_bytes = totals->bytes;
	step->end_blocks = totals->blocks;
}

/* The live memory at a place. */
static struct allo_peak live_at(const struct allo_change_log *log, struct allo_log_place place)
{
	const struct allo_log_segment *segment = &log->segments.at[place.segment];
	uint32_t start = place.at / ALLO_PAGE_CHANGES * ALLO_PAGE_CHANGES;
	struct totals totals = { .log = log };
	struct allo_timeline_step step;

	if (place.at == segment->shape.count)
		return (struct allo_peak){ segment->end_bytes, segment->end_blocks };
	totals.bytes = segment->pages[start / ALLO_PAGE_CHANGES].bytes;
	totals.blocks = segment->pages[start / ALLO_PAGE_CHANGES].blocks;
	take_range(&totals, (struct allo_log_place){ place.segment, start }, place, &step);
	return (struct allo_peak){ totals.bytes, totals.blocks };
}

struct allo_peak allo_change_log_live(const struct allo_change_log *log, uint64_t ns)
{
	size_t segment = allo_log_segment_at(log, ns);
	struct allo_error err = { 0 };

	if (log->segments.len == 0 || !allo_log_need(log, segment, segment, &err))
		return (struct allo_peak){ 0 };
	return live_at(log, allo_log_find(log, ns));
}

/* Finds the change of a page that reaches the peak first. */
static struct allo_log_place find_peak(const struct totals *totals)
{
	struct allo_log_place at = totals->peak;
	struct allo_peak live = live_at(totals->log, at);
	struct totals again = { .log = totals->log, .bytes = live.bytes, .blocks = live.blocks };
	struct allo_timeline_step step = { 0 };

	while (again.bytes < totals->peak_bytes &&
	       at.at < totals->log->segments.at[at.segment].shape.count)
		take_change(&again, at.segment, at.at++, &step);
	return at;
}

static void set_peak(const struct totals *totals, struct allo_timeline *timeline)
{
	struct allo_log_place at = totals->is_in_page ? find_peak(totals) : totals->peak;
	struct allo_peak live = live_at(totals->log, at);

	timeline->peak_bytes = live.bytes;
	timeline->peak_blocks = live.blocks;
	timeline->peak_ns = at.at > 0 ? allo_segment_ns(&totals->log->segments.at[at.segment],
							at.at - 1)
				      : 0;
}

/* The number of steps up to the end, where the last event may be at the end itself. */
static uint64_t count_steps(uint64_t from_ns, uint64_t end_ns, uint64_t last_ns, uint64_t step_ns)
{
	uint64_t count = end_ns > from_ns ? (end_ns - from_ns - 1) / step_ns + 1 : 1;
	uint64_t events = last_ns >= from_ns ? (last_ns - from_ns) / step_ns + 1 : 1;

	return events > count ? events : count;
}

/* Fills the steps of a timeline, whose start and step are set. */
static bool fill(const struct allo_change_log *log, uint64_t to_ns, uint64_t end_ns,
		 struct allo_timeline *timeline, struct allo_error *err)
{
	uint64_t from_ns = timeline->from_ns, step_ns = timeline->step_ns;
	uint64_t count = count_steps(from_ns, end_ns, allo_log_last_before(log, to_ns), step_ns);
	struct allo_peak live = allo_change_log_live(log, from_ns);
	struct totals totals = {
		.log = log, .bytes = live.bytes, .blocks = live.blocks, .peak_bytes = live.bytes
	};
	struct allo_log_place at = { 0 }, next = { 0 };

	timeline->steps.len = 0;
	if (!allo_vec_extend(&timeline->steps, (size_t)count, err))
		return false;
	timeline->peak_bytes = live.bytes;
	timeline->peak_blocks = live.blocks;
	timeline->peak_ns = from_ns;
	timeline->end_ns = end_ns > from_ns ? end_ns : from_ns;
	if (log->segments.len == 0)
		return true;
	at = allo_log_find(log, from_ns);
	for (size_t i = 0; i < count; i++, at = next) {
		next = i + 1 < count ? allo_log_find(log, from_ns + (i + 1) * step_ns)
				     : allo_log_end(log, to_ns);
		take_range(&totals, at, next, &timeline->steps.at[i]);
	}
	if (totals.has_peak)
		set_peak(&totals, timeline);
	return true;
}

bool allo_log_history(const struct allo_change_log *log, const struct allo_window *window,
		      uint64_t end_ns, struct allo_timeline *timeline, struct allo_error *err)
{
	uint64_t last_ns = allo_log_last_before(log, window->to_ns);

	if (timeline->most < 2)
		timeline->most = 2;
	timeline->most += timeline->most % 2;
	timeline->from_ns = window->from_ns;
	if (timeline->step_ns == 0)
		timeline->step_ns = allo_timeline_first_ns;
	while (count_steps(window->from_ns, end_ns, last_ns, timeline->step_ns) > timeline->most)
		timeline->step_ns *= 2;
	return fill(log, window->to_ns, end_ns, timeline, err);
}

/* A sampled recording has few events. */
static bool replay_steps(const struct allo_change_log *log, const struct allo_window *window,
			 uint64_t end_ns, struct allo_timeline *timeline, struct allo_error *err)
{
	const struct allo_heap_options options = { .window = *window, .timeline = timeline };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	uint64_t events;

	return allo_log_replay(log, &options, end_ns, &heap, &events, err);
}

bool allo_change_log_timeline(const struct allo_change_log *log, uint64_t from_ns, uint64_t to_ns,
			      size_t steps, struct allo_timeline *timeline, struct allo_error *err)
{
	const struct allo_window window = { .from_ns = from_ns, .to_ns = to_ns };
	size_t first = allo_is_sampled(&log->weighing) ? 0 : allo_log_segment_at(log, from_ns);
	uint64_t end_ns, span_ns;

	if (!allo_log_need(log, first, allo_log_segment_at(log, to_ns > 0 ? to_ns : UINT64_MAX),
			   err))
		return false;
	end_ns = allo_window_end(&window, log->recording, allo_log_last_before(log, to_ns));
	span_ns = end_ns > from_ns ? end_ns - from_ns : 0;
	allo_timeline_done(timeline);
	/* One more, so that an event at the very end does not need another step. */
	*timeline = (struct allo_timeline){ .most = steps > 0 ? steps : 1,
					    .weighing = log->weighing,
					    .from_ns = from_ns,
					    .step_ns = span_ns / (steps > 0 ? steps : 1) + 1 };
	return allo_is_sampled(&log->weighing) ? replay_steps(log, &window, end_ns, timeline, err)
					       : fill(log, to_ns, end_ns, timeline, err);
}
