/* moment.c - see moment.h. */
#include "replay/moment.h"

#include "base/defer.h"
#include "replay/live_blocks.h"

/* What has happened so far. */
struct course {
	struct allo_moment now;
	struct allo_weighing weighing;
	allo_parts bytes;         /* that the wanted threads hold */
	const bool *threads;      /* NULL: all */
	ALLO_VEC(bool) is_wanted; /* by place of a live block; see live_blocks.h */
	/* The answer. */
	bool is_peak; /* or the last moment up to: */
	uint64_t ns;
	allo_parts most;
	struct allo_moment found;
};

static void course_done(struct course *course)
{
	allo_vec_done(&course->is_wanted);
}

static void end_block(struct course *course, const struct allo_outcome *ended)
{
	course->now.ended++;
	if (course->is_wanted.at[ended->number])
		course->bytes -= allo_weigh(&course->weighing, ended->size).bytes;
}

static bool add_block(struct course *course, const struct allo_event *event, uint32_t place,
		      struct allo_error *err)
{
	bool is_wanted = !course->threads || course->threads[event->stream];

	if (!allo_vec_cover(&course->is_wanted, (size_t)place + 1))
		return allo_fail_memory(err);
	course->is_wanted.at[place] = is_wanted;
	course->now.born++;
	if (!is_wanted)
		return true;
	course->bytes += allo_weigh(&course->weighing, event->size).bytes;
	if (course->is_peak && course->bytes > course->most) {
		course->most = course->bytes;
		course->found = course->now;
	}
	return true;
}

/* False behind the time that is wanted. */
static bool follow(struct course *course, const struct allo_event_span *span,
		   const struct allo_outcomes *outcomes, struct allo_error *err)
{
	const struct allo_outcome *retired = outcomes->retired;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &outcomes->at[i];

		if (!course->is_peak && event->ns > course->ns)
			return false;
		if (allo_outcome_ends_block(outcome, event))
			end_block(course, outcome);
		if (outcome->flags & ALLO_OUTCOME_RETIRED)
			end_block(course, retired++);
		if (outcome->flags & ALLO_OUTCOME_CREATED &&
		    !add_block(course, event, outcomes->place[i], err))
			return false;
	}
	return true;
}

static bool find(struct course *course, struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	ALLO_DEFER(allo_live_blocks_done) struct allo_live_blocks blocks = { 0 };
	struct allo_outcomes outcomes;
	struct allo_event_span span;

	if (!allo_live_blocks_init(&blocks, recording, err) ||
	    !allo_events_open(&events, recording, err))
		return false;
	blocks.places.are_wanted = true;
	course->weighing = blocks.weighing;
	while (allo_events_next(&events, &span, err)) {
		if (!allo_live_blocks_apply(&blocks, &span, &outcomes, err) ||
		    !follow(course, &span, &outcomes, err))
			break;
	}
	if (!course->is_peak)
		course->found = course->now;
	return !allo_failed(err);
}

bool allo_moment_of_peak(struct allo_moment *moment, struct allo_recording *recording,
			 const bool *threads, struct allo_error *err)
{
	ALLO_DEFER(course_done) struct course course = { .threads = threads, .is_peak = true };

	if (!find(&course, recording, err))
		return false;
	*moment = course.found;
	return true;
}

bool allo_moment_at(struct allo_moment *moment, struct allo_recording *recording, uint64_t ns,
		    struct allo_error *err)
{
	ALLO_DEFER(course_done) struct course course = { .ns = ns };

	if (!find(&course, recording, err))
		return false;
	*moment = course.found;
	return true;
}

bool allo_moment_of_view(struct allo_moment *moment, struct allo_recording *recording,
			 enum allo_instant at, const struct allo_window *window,
			 struct allo_error *err)
{
	if (at == ALLO_AT_PEAK)
		return allo_moment_of_peak(moment, recording, window->threads, err);
	return allo_moment_at(moment, recording, window->to_ns > 0 ? window->to_ns - 1 : UINT64_MAX,
			      err);
}
