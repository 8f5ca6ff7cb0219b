/*
 * log_windows.h - random windows of a recording, answered by a change log and by a replay.
 */
#ifndef ALLO_TESTS_LOG_WINDOWS_H
#define ALLO_TESTS_LOG_WINDOWS_H

#include "base/defer.h"
#include "random.h"
#include "same_heap.h"
#include "view/log/change_log.h"
#include "view/log/change_log_segment.h"

/* A request, and the memory that it refers to. */
struct log_request {
	struct allo_heap_options options;
	bool *threads;
	size_t steps;
};

/* A time: anywhere, at a change, at the border of two segments, or just after one of these. */
static inline uint64_t draw_time(const struct allo_change_log *log, uint64_t *seed)
{
	uint64_t ns = log->end_ns > 0 ? draw_u64(seed) % (log->end_ns + log->end_ns / 20 + 1) : 0;
	const struct allo_log_segment *segment;

	if (log->segments.len == 0 || draw(seed, 3) == 0)
		return ns;
	segment = &log->segments.at[draw(seed, (uint32_t)log->segments.len)];
	ns = draw(seed, 2) ? segment->first_ns
			   : allo_segment_ns(segment, draw(seed, segment->shape.count));
	return ns + draw(seed, 2);
}

static inline void draw_request(struct log_request *request, const struct allo_change_log *log,
				const struct allo_recording *recording, uint64_t *seed)
{
	uint64_t a = draw_time(log, seed), b = draw_time(log, seed);
	struct allo_heap_options *options = &request->options;

	*options = (struct allo_heap_options){ .keeps_before = draw(seed, 2),
					       .wants_births = draw(seed, 3) == 0,
					       .keeps_first = log->keeps_first };
	if (draw(seed, 4))
		options->window.from_ns = a < b ? a : b;
	if (draw(seed, 4))
		options->window.to_ns = (a < b ? b : a) + 1;
	if (!log->keeps_first && draw(seed, 5) == 0)
		options->by_thread = true;
	if (!log->keeps_first && draw(seed, 5) == 0) {
		for (size_t i = 0; i < recording->streams.len; i++)
			request->threads[i] = draw(seed, 2) == 0;
		options->window.threads = request->threads;
	}
	request->steps = 1 + draw(seed, 300);
}

/* Compares the heap of a window, and its timeline with steps as replay chooses them. */
static inline bool compare_window(struct comparison *comparison, const struct allo_change_log *log,
				  struct allo_recording *recording,
				  const struct log_request *request, struct allo_heap *reused,
				  struct allo_error *err)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	ALLO_DEFER(allo_timeline_done)
	struct allo_timeline expected = { .most = request->steps },
			     found = { .most = request->steps };
	struct allo_marks marks = { 0 }, found_marks = { 0 };
	struct allo_heap_options options = request->options, answered = request->options;
	uint64_t events, found_events;
	bool ok;

	options.timeline = &expected;
	options.marks = &marks;
	answered.timeline = &found;
	answered.marks = &found_marks;
	ok = allo_heap_replay(&heap, recording, &options, &events, err) &&
	     allo_change_log_heap(log, &answered, reused, &found_events, err);
	if (ok) {
		compare_heaps(comparison, &heap, reused, &options);
		compare_timelines(comparison, &expected, &found);
		compare_numbers(comparison, "events", 0, events, found_events);
		compare_numbers(comparison, "marks", 0, marks.list.len, found_marks.list.len);
	}
	allo_timeline_done(&found);
	allo_marks_done(&marks);
	allo_marks_done(&found_marks);
	return ok;
}

/* Compares a timeline with steps of any length. */
static inline bool compare_line(struct comparison *comparison, const struct allo_change_log *log,
				struct allo_recording *recording, const struct log_request *request,
				struct allo_error *err)
{
	const struct allo_window window = { .from_ns = request->options.window.from_ns,
					    .to_ns = request->options.window.to_ns };
	ALLO_DEFER(allo_timeline_done) struct allo_timeline expected = { 0 };
	ALLO_DEFER(allo_timeline_done) struct allo_timeline found = { 0 };

	if (!allo_change_log_timeline(log, window.from_ns, window.to_ns, request->steps, &found,
				      err))
		return false;
	expected.most = request->steps + 2;
	expected.step_ns = found.step_ns;
	if (!allo_timeline_of(&expected, recording, &window, err))
		return false;
	compare_timelines(comparison, &expected, &found);
	compare_numbers(comparison, "enough steps", 0, true, found.steps.len <= request->steps);
	return true;
}

/* Sums of the changes that a log hands on. */
struct walked {
	uint64_t last_ns, made, made_bytes, ended, ended_bytes, temporary;
};

static inline bool sum_changes(void *context, const struct allo_change *changes, size_t count,
			       struct allo_error *err)
{
	struct walked *walked = context;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		bool has_ended = (changes[i].flags & ALLO_CHANGE_ENDED) != 0;

		if (changes[i].ns < walked->last_ns || changes[i].birth_ns > changes[i].ns)
			return false;
		walked->last_ns = changes[i].ns;
		walked->made += !has_ended;
		walked->made_bytes += has_ended ? 0 : changes[i].size;
		walked->ended += has_ended;
		walked->ended_bytes += has_ended ? changes[i].size : 0;
		walked->temporary += (changes[i].flags & ALLO_CHANGE_TEMPORARY) != 0;
	}
	return true;
}

/* The changes of a window lead from the live memory at its start to that at its end. */
static inline bool compare_walk(struct comparison *comparison, const struct allo_change_log *log,
				const struct log_request *request, struct allo_error *err)
{
	uint64_t from_ns = request->options.window.from_ns, to_ns = request->options.window.to_ns;
	struct allo_peak before = allo_change_log_live(log, from_ns);
	struct allo_peak after = allo_change_log_live(log, to_ns > 0 ? to_ns : UINT64_MAX);
	ALLO_DEFER(allo_timeline_done) struct allo_timeline line = { 0 };
	struct walked walked = { .last_ns = from_ns };

	if (!allo_change_log_walk(log, from_ns, to_ns, sum_changes, &walked, err) ||
	    !allo_change_log_timeline(log, from_ns, to_ns, 1, &line, err))
		return false;
	compare_numbers(comparison, "walked bytes", 0, after.bytes,
			before.bytes + walked.made_bytes - walked.ended_bytes);
	compare_numbers(comparison, "walked blocks", 0, after.blocks,
			before.blocks + walked.made - walked.ended);
	if (!allo_is_sampled(&log->weighing)) {
		compare_numbers(comparison, "walked made", 0, line.steps.at[0].allocations,
				walked.made);
		compare_numbers(comparison, "walked temporary", 0,
				line.steps.at[0].temporary_blocks, walked.temporary);
	}
	return true;
}

/* Asks for random windows.  False when something fails. */
static inline bool compare_rounds(struct comparison *comparison, const struct allo_change_log *log,
				  struct allo_recording *recording, unsigned rounds, uint64_t seed,
				  struct allo_error *err)
{
	struct log_request request = { .threads = calloc(recording->streams.len + 1, 1) };
	struct allo_heap reused = { 0 };
	bool ok = request.threads != NULL;

	for (unsigned i = 0; i < rounds && ok; i++) {
		draw_request(&request, log, recording, &seed);
		if (!allo_change_log_answers(log, &request.options))
			request.options.by_thread = false, request.options.window.threads = NULL;
		ok = compare_window(comparison, log, recording, &request, &reused, err) &&
		     compare_line(comparison, log, recording, &request, err) &&
		     compare_walk(comparison, log, &request, err);
	}
	allo_heap_done(&reused);
	free(request.threads);
	return ok;
}

#endif
