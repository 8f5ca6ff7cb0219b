/* thread_totals.c - see thread_totals.h. */
#include "replay/thread_totals.h"

#include "base/defer.h"

void allo_thread_totals_done(struct allo_thread_totals *totals)
{
	allo_vec_done(&totals->threads);
	allo_vec_done(&totals->owner);
}

/* What a thread held at the last peak can be seen until it changes: it is noted just before. */
static inline void note_peak(const struct allo_thread_totals *totals,
			     struct allo_thread_total *thread)
{
	if (thread->of_peak != totals->peaks) {
		thread->peak_bytes = thread->live_bytes;
		thread->peak_blocks = thread->live_blocks;
		thread->of_peak = totals->peaks;
	}
}

static struct allo_thread_total *owner_of(const struct allo_thread_totals *totals, uint32_t place)
{
	return &totals->threads.at[totals->owner.at[place]];
}

/* A block is gone; who has ended it is counted elsewhere. */
static inline void take_off(struct allo_thread_totals *totals, const struct allo_outcome *ended)
{
	struct allo_thread_total *owner = owner_of(totals, ended->number);

	note_peak(totals, owner);
	owner->live_bytes -= ended->size;
	owner->live_blocks--;
}

static inline void count_end(struct allo_thread_totals *totals, const struct allo_event *event,
			     const struct allo_outcome *ended)
{
	struct allo_thread_total *owner = owner_of(totals, ended->number);
	struct allo_thread_total *own = &totals->threads.at[event->stream];

	take_off(totals, ended);
	/* Who has freed that is not known yet. */
	if (event->kind == ALLO_EVENT_RETIRE)
		return;
	own->frees++;
	/* The place of another thread's block may have been that of one that this thread made. */
	if (owner == own) {
		own->temporary_blocks += (ended->flags & ALLO_OUTCOME_TEMPORARY) != 0;
	} else {
		own->frees_of_others++;
		owner->freed_by_others++;
	}
}

static inline bool count_created(struct allo_thread_totals *totals, const struct allo_event *event,
				 const struct allo_outcome *outcome, uint32_t place,
				 struct allo_error *err)
{
	struct allo_thread_total *thread = &totals->threads.at[event->stream];

	if (!allo_vec_cover(&totals->owner, (size_t)place + 1))
		return allo_fail_memory(err);
	totals->owner.at[place] = event->stream;
	note_peak(totals, thread);
	thread->allocations++;
	thread->alloc_bytes += event->size;
	thread->live_bytes += event->size;
	thread->live_blocks++;
	if (thread->live_bytes > thread->max_bytes)
		thread->max_bytes = thread->live_bytes;
	totals->peaks += (outcome->flags & ALLO_OUTCOME_PEAK) != 0;
	return true;
}

static bool count_outcomes(struct allo_thread_totals *totals, const struct allo_event_span *span,
			   const struct allo_outcomes *outcomes, struct allo_error *err)
{
	const struct allo_outcome *retired = outcomes->retired;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &outcomes->at[i];

		if (allo_outcome_ends_block(outcome, event))
			count_end(totals, event, outcome);
		else if (outcome->flags & ALLO_OUTCOME_LATE)
			totals->threads.at[event->stream].frees++;
		if (outcome->flags & ALLO_OUTCOME_RETIRED)
			take_off(totals, retired++);
		if (outcome->flags & ALLO_OUTCOME_CREATED &&
		    !count_created(totals, event, outcome, outcomes->place[i], err))
			return false;
	}
	return true;
}

/* Forgets what has happened so far, but not what is live. */
static void restart(struct allo_thread_totals *totals)
{
	totals->peaks++;
	for (size_t i = 0; i < totals->threads.len; i++) {
		struct allo_thread_total *thread = &totals->threads.at[i];

		*thread = (struct allo_thread_total){ .live_bytes = thread->live_bytes,
						      .live_blocks = thread->live_blocks,
						      .max_bytes = thread->live_bytes };
	}
}

static bool replay(struct allo_thread_totals *totals, struct allo_live_blocks *blocks,
		   struct allo_window_events *events, uint64_t from_ns, struct allo_error *err)
{
	struct allo_outcomes outcomes;
	struct allo_event_span span;
	bool has_begun = from_ns == 0, is_inside;

	while (allo_window_next(events, &span, &is_inside, err)) {
		if (is_inside && !has_begun) {
			allo_live_blocks_restart(blocks, from_ns);
			restart(totals);
			has_begun = true;
		}
		if (!allo_live_blocks_apply(blocks, &span, &outcomes, err) ||
		    !count_outcomes(totals, &span, &outcomes, err))
			return false;
	}
	if (!has_begun) {
		allo_live_blocks_restart(blocks, from_ns);
		restart(totals);
	}
	return !allo_failed(err);
}

bool allo_thread_totals_of(struct allo_thread_totals *totals, struct allo_recording *recording,
			   const struct allo_window *window, struct allo_error *err)
{
	ALLO_DEFER(allo_window_close) struct allo_window_events events = { 0 };
	ALLO_DEFER(allo_live_blocks_done) struct allo_live_blocks blocks = { 0 };

	if (!allo_vec_cover(&totals->threads, recording->streams.len))
		return allo_fail_memory(err);
	if (!allo_live_blocks_init(&blocks, recording, err) ||
	    !allo_window_open(&events, recording, window, err))
		return false;
	blocks.places.are_wanted = true;
	totals->peaks = 1; /* at first, everybody holds nothing */
	if (!replay(totals, &blocks, &events, window ? window->from_ns : 0, err))
		return false;
	for (size_t i = 0; i < totals->threads.len; i++)
		note_peak(totals, &totals->threads.at[i]);
	totals->peak_bytes = blocks.peak_bytes;
	totals->peak_ns = blocks.peak_ns;
	return true;
}
