/* timeline.c - steps that double their length; maxima and minima within each. */
#include "replay/timeline.h"

#include "base/assert.h"
#include "base/defer.h"

static inline uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Joins two steps. */
static struct allo_timeline_step joined(const struct allo_timeline_step *first,
					const struct allo_timeline_step *second)
{
	return (struct allo_timeline_step){
		.max_bytes = larger(first->max_bytes, second->max_bytes),
		.max_blocks = larger(first->max_blocks, second->max_blocks),
		.min_bytes = first->min_bytes < second->min_bytes ? first->min_bytes
								  : second->min_bytes,
		.end_bytes = second->end_bytes,
		.end_blocks = second->end_blocks,
		.allocations = first->allocations + second->allocations,
		.frees = first->frees + second->frees,
		.alloc_bytes = first->alloc_bytes + second->alloc_bytes,
		.temporary_blocks = first->temporary_blocks + second->temporary_blocks,
	};
}

static void double_steps(struct allo_timeline *timeline)
{
	struct allo_timeline_step *steps = timeline->steps.at;
	size_t count = timeline->steps.len;

	for (size_t i = 0; i < count / 2; i++)
		steps[i] = joined(&steps[2 * i], &steps[2 * i + 1]);
	if (count % 2 > 0)
		steps[count / 2] = steps[count - 1];
	timeline->steps.len = (count + 1) / 2;
	timeline->step_ns *= 2;
}

/* An even number, so that steps are joined in pairs. */
static size_t even_most(size_t most)
{
	return most < 2 ? 2 : most + most % 2;
}

void allo_timeline_coarsen(struct allo_timeline *timeline, size_t most)
{
	ALLO_ASSERT(even_most(most) <= timeline->most);
	timeline->most = even_most(most);
	/* There are at least three steps, of which all but the last have an end: doubling cannot
	 * overflow. */
	while (timeline->steps.len > timeline->most)
		double_steps(timeline);
}

/* The end of the last step, or UINT64_MAX if it does not fit 64 bits. */
static uint64_t end_of_steps(const struct allo_timeline *timeline)
{
	uint64_t ns;

	if (__builtin_mul_overflow(timeline->steps.len, timeline->step_ns, &ns) ||
	    __builtin_add_overflow(ns, timeline->from_ns, &ns))
		return UINT64_MAX;
	return ns;
}

/* Adds a step that starts with the live memory. */
static bool add_step(struct allo_timeline *timeline, struct allo_error *err)
{
	struct allo_timeline_step *step;

	/* The number of steps is even and the last one has an end, so doubling cannot overflow. */
	if (timeline->steps.len >= timeline->most)
		double_steps(timeline);
	ALLO_ASSERT(timeline->steps.len < timeline->most && timeline->step_ns > 0);
	step = allo_vec_push(&timeline->steps);
	if (!step)
		return allo_fail_memory(err);
	*step = (struct allo_timeline_step){ .max_bytes = timeline->bytes,
					     .max_blocks = timeline->blocks,
					     .min_bytes = timeline->bytes };
	timeline->next_ns = end_of_steps(timeline);
	return true;
}

static bool begin(struct allo_timeline *timeline, struct allo_error *err)
{
	timeline->most = even_most(timeline->most);
	if (timeline->step_ns == 0)
		timeline->step_ns = allo_timeline_first_ns;
	timeline->peak_bytes = timeline->bytes;
	timeline->peak_blocks = timeline->blocks;
	timeline->peak_ns = timeline->from_ns;
	timeline->has_begun = true;
	return add_step(timeline, err);
}

static void end_step(struct allo_timeline *timeline)
{
	struct allo_timeline_step *step = &timeline->steps.at[timeline->steps.len - 1];

	ALLO_ASSERT(timeline->steps.len > 0);
	step->end_bytes = timeline->bytes;
	step->end_blocks = timeline->blocks;
}

static bool begin_next(struct allo_timeline *timeline, struct allo_error *err)
{
	end_step(timeline);
	return add_step(timeline, err);
}

/* The change of the numbers of a timeline by one block. */
struct change {
	uint64_t live_bytes, live_blocks;
	uint64_t bytes, blocks; /* allocated or freed */
};

/* A block of a sampled recording changes them by the change of the rounded sums. */
static __attribute__((noinline)) struct change weigh_ended(struct allo_timeline *timeline,
							   const struct allo_outcome *ended)
{
	struct allo_weighed_totals *weighed = &timeline->weighed, before = *weighed;

	allo_weighed_totals_end(weighed, &timeline->weighing, ended->size, ended->birth_ns);
	return (struct change){
		.live_bytes = timeline->bytes - allo_parts_round(weighed->bytes),
		.live_blocks = timeline->blocks - allo_parts_round(weighed->blocks),
		.blocks = allo_parts_round(weighed->ended) - allo_parts_round(before.ended),
	};
}

static __attribute__((noinline)) struct change weigh_created(struct allo_timeline *timeline,
							     const struct allo_event *event)
{
	struct allo_weighed_totals *weighed = &timeline->weighed, before = *weighed;

	allo_weighed_totals_add(weighed, &timeline->weighing, event->size, event->ns);
	return (struct change){
		.live_bytes = allo_parts_round(weighed->bytes) - timeline->bytes,
		.live_blocks = allo_parts_round(weighed->blocks) - timeline->blocks,
		.bytes = allo_parts_round(weighed->total_bytes) -
			 allo_parts_round(before.total_bytes),
		.blocks = allo_parts_round(weighed->allocations) -
			  allo_parts_round(before.allocations),
	};
}

static inline void end_block(struct allo_timeline *timeline, struct allo_timeline_step *step,
			     const struct allo_outcome *ended)
{
	struct change change = { ended->size, 1, ended->size, 1 };

	if (allo_is_sampled(&timeline->weighing))
		change = weigh_ended(timeline, ended);
	timeline->bytes -= change.live_bytes;
	timeline->blocks -= change.live_blocks;
	step->frees += change.blocks;
	step->temporary_blocks += (ended->flags & ALLO_OUTCOME_TEMPORARY) != 0;
	if (timeline->bytes < step->min_bytes)
		step->min_bytes = timeline->bytes;
}

static inline void add_block(struct allo_timeline *timeline, struct allo_timeline_step *step,
			     const struct allo_event *event)
{
	struct change change = { event->size, 1, event->size, 1 };

	if (allo_is_sampled(&timeline->weighing))
		change = weigh_created(timeline, event);
	timeline->bytes += change.live_bytes;
	timeline->blocks += change.live_blocks;
	step->allocations += change.blocks;
	step->alloc_bytes += change.bytes;
	if (timeline->bytes > step->max_bytes)
		step->max_bytes = timeline->bytes;
	if (timeline->blocks > step->max_blocks)
		step->max_blocks = timeline->blocks;
	if (timeline->bytes > timeline->peak_bytes) {
		timeline->peak_bytes = timeline->bytes;
		timeline->peak_blocks = timeline->blocks;
		timeline->peak_ns = event->ns;
	}
}

bool allo_timeline_add(struct allo_timeline *timeline, const struct allo_event_span *span,
		       const struct allo_outcomes *outcomes, bool is_inside, struct allo_error *err)
{
	const struct allo_outcome *retired = outcomes->retired;
	struct allo_timeline_step before = { 0 }; /* takes the counts of events before the window */

	if (is_inside && !timeline->has_begun && !begin(timeline, err))
		return false;
	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &outcomes->at[i];
		struct allo_timeline_step *step = &before;

		if (is_inside) {
			while (event->ns >= timeline->next_ns && timeline->next_ns < UINT64_MAX) {
				if (!begin_next(timeline, err))
					return false;
			}
			step = &timeline->steps.at[timeline->steps.len - 1];
		}
		if (allo_outcome_ends_block(outcome, event))
			end_block(timeline, step, outcome);
		if (outcome->flags & ALLO_OUTCOME_RETIRED)
			end_block(timeline, step, retired++);
		if (outcome->flags & ALLO_OUTCOME_CREATED)
			add_block(timeline, step, event);
	}
	return true;
}

/* The step of a time, NULL on failure.  Before the window it is a step that counts for nothing. */
static struct allo_timeline_step *step_at(struct allo_timeline *timeline, uint64_t ns,
					  bool is_inside, struct allo_timeline_step *before,
					  struct allo_error *err)
{
	if (!is_inside)
		return before;
	if (!timeline->has_begun && !begin(timeline, err))
		return NULL;
	while (ns >= timeline->next_ns && timeline->next_ns < UINT64_MAX) {
		if (!begin_next(timeline, err))
			return NULL;
	}
	return &timeline->steps.at[timeline->steps.len - 1];
}

bool allo_timeline_pass(struct allo_timeline *timeline, uint64_t ns, struct allo_error *err)
{
	struct allo_timeline_step before;

	return step_at(timeline, ns, true, &before, err) != NULL;
}

bool allo_timeline_end_block(struct allo_timeline *timeline, uint64_t ns,
			     const struct allo_outcome *ended, bool is_inside,
			     struct allo_error *err)
{
	struct allo_timeline_step before = { 0 }, *step;

	step = step_at(timeline, ns, is_inside, &before, err);
	if (step)
		end_block(timeline, step, ended);
	return step != NULL;
}

bool allo_timeline_add_block(struct allo_timeline *timeline, const struct allo_event *event,
			     bool is_inside, struct allo_error *err)
{
	struct allo_timeline_step before = { 0 }, *step;

	step = step_at(timeline, event->ns, is_inside, &before, err);
	if (step)
		add_block(timeline, step, event);
	return step != NULL;
}

bool allo_timeline_end(struct allo_timeline *timeline, uint64_t end_ns, struct allo_error *err)
{
	if (!timeline->has_begun && !begin(timeline, err))
		return false;
	while (end_ns > timeline->next_ns) {
		if (!begin_next(timeline, err))
			return false;
	}
	end_step(timeline);
	timeline->end_ns = larger(end_ns, timeline->from_ns);
	return true;
}

uint64_t allo_timeline_active_ns(const struct allo_timeline *timeline, uint64_t duration_ns)
{
	size_t active = timeline->steps.len;

	while (active > 0 && timeline->steps.at[active - 1].allocations == 0)
		active--;
	return active > 0 && active * timeline->step_ns < duration_ns ? active * timeline->step_ns
								      : duration_ns;
}

uint64_t allo_timeline_part_ns(const struct allo_timeline *timeline, unsigned part, unsigned parts)
{
	double wanted = 0, made = 0;

	for (size_t i = 0; i < timeline->steps.len; i++)
		wanted += (double)timeline->steps.at[i].allocations;
	wanted = wanted * part / parts;
	for (size_t i = 0; i < timeline->steps.len; i++) {
		double more = (double)timeline->steps.at[i].allocations;

		if (more > 0 && made + more >= wanted)
			return timeline->from_ns + (uint64_t)(((double)i + (wanted - made) / more) *
							      (double)timeline->step_ns);
		made += more;
	}
	return timeline->end_ns;
}

void allo_timeline_done(struct allo_timeline *timeline)
{
	allo_vec_done(&timeline->steps);
}

bool allo_timeline_of(struct allo_timeline *timeline, struct allo_recording *recording,
		      const struct allo_window *window, struct allo_error *err)
{
	ALLO_DEFER(allo_window_close) struct allo_window_events events = { 0 };
	ALLO_DEFER(allo_live_blocks_done) struct allo_live_blocks blocks = { 0 };
	struct allo_window exact = window ? *window : (struct allo_window){ 0 };
	struct allo_outcomes outcomes;
	struct allo_event_span span;
	bool is_inside;

	/* Sums of a bounded recording have no times. */
	exact.from_ns = larger(exact.from_ns, allo_recording_exact_ns(recording));
	timeline->from_ns = exact.from_ns;
	timeline->weighing = allo_weighing_of(recording);
	if (!allo_live_blocks_init(&blocks, recording, err) ||
	    !allo_window_open(&events, recording, &exact, err))
		return false;
	while (allo_window_next(&events, &span, &is_inside, err)) {
		if (!allo_live_blocks_apply(&blocks, &span, &outcomes, err) ||
		    !allo_timeline_add(timeline, &span, &outcomes, is_inside, err))
			return false;
	}
	return !allo_failed(err) &&
	       allo_timeline_end(timeline, allo_window_end(window, recording, blocks.last_ns), err);
}

static bool add_level(struct allo_profile *profile, uint64_t time, uint64_t bytes, uint64_t blocks)
{
	struct allo_level *level = allo_vec_push(&profile->history);

	if (level)
		*level = (struct allo_level){ time, bytes, blocks };
	return level != NULL;
}

/* An event on the border of two steps belongs to the later one, so the peak follows a step that
 * ends with it. */
bool allo_timeline_add_history(const struct allo_timeline *timeline, struct allo_profile *profile,
			       struct allo_error *err)
{
	uint64_t duration = timeline->end_ns - timeline->from_ns;
	uint64_t peak = timeline->peak_ns - timeline->from_ns;
	/* A window starts with the heap that was there before it; a whole recording starts empty.
	 */
	bool ok = timeline->from_ns > 0 || add_level(profile, 0, 0, 0), has_peak = false;

	for (size_t i = 0; i < timeline->steps.len && ok; i++) {
		const struct allo_timeline_step *step = &timeline->steps.at[i];
		bool is_last = i + 1 == timeline->steps.len;
		uint64_t end = is_last ? duration : (i + 1) * timeline->step_ns;

		if (!has_peak && (is_last || end > peak)) {
			ok = add_level(profile, peak, timeline->peak_bytes, timeline->peak_blocks);
			has_peak = true;
		}
		ok = ok && add_level(profile, end, step->end_bytes, step->end_blocks);
	}
	return ok || allo_fail_memory(err);
}
