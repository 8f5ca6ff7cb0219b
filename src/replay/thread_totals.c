/*
 * thread_totals.c - keeps the owner of each block, and saves the values of all threads at a peak.
 */
#include "replay/thread_totals.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/peak.h"

/* The sums of struct allo_thread_total in parts (weights.h). */
struct count {
	allo_parts allocations, alloc_bytes;
	allo_parts frees, frees_of_others, freed_by_others;
	allo_parts temporary_blocks;
	allo_parts live_bytes, live_blocks, max_bytes, peak_bytes, peak_blocks;
	uint64_t of_peak; /* see peak.h */
};

struct counter {
	struct allo_live_blocks blocks;
	ALLO_VEC(struct count) threads; /* by stream */
	uint64_t peaks;                 /* number of the last peak */
	ALLO_VEC(uint32_t) owner; /* stream of the allocating thread, by place: see live_blocks.h */
};

static void counter_done(struct counter *counter)
{
	allo_live_blocks_done(&counter->blocks);
	allo_vec_done(&counter->threads);
	allo_vec_done(&counter->owner);
}

void allo_thread_totals_done(struct allo_thread_totals *totals)
{
	allo_vec_done(&totals->threads);
}

static inline void save_peak(const struct counter *counter, struct count *thread)
{
	if (ALLO_PEAK_SAVE(thread, counter->peaks)) {
		thread->peak_bytes = thread->live_bytes;
		thread->peak_blocks = thread->live_blocks;
	}
}

static struct count *owner_of(const struct counter *counter, uint32_t place)
{
	return &counter->threads.at[counter->owner.at[place]];
}

/* Takes a block off its owner; the caller counts the thread that freed it. */
static inline void take_off(struct counter *counter, const struct allo_outcome *ended,
			    const struct allo_weight *weight)
{
	struct count *owner = owner_of(counter, ended->number);

	ALLO_ASSERT(owner->live_bytes >= weight->bytes && owner->live_blocks >= weight->blocks);
	save_peak(counter, owner);
	owner->live_bytes -= weight->bytes;
	owner->live_blocks -= weight->blocks;
}

static inline void count_end(struct counter *counter, const struct allo_event *event,
			     const struct allo_outcome *ended)
{
	struct allo_weight weight = allo_weigh(&counter->blocks.weighing, ended->size,
					       ended->birth_ns);
	struct count *owner = owner_of(counter, ended->number);
	struct count *own = &counter->threads.at[event->stream];

	take_off(counter, ended, &weight);
	/* The free comes later, and tells the thread. */
	if (event->kind == ALLO_EVENT_RETIRE)
		return;
	own->frees += weight.blocks;
	/* A block of another thread may have a place that a block of this thread had before. */
	if (owner == own) {
		if (ended->flags & ALLO_OUTCOME_TEMPORARY)
			own->temporary_blocks += weight.blocks;
	} else {
		own->frees_of_others += weight.blocks;
		owner->freed_by_others += weight.blocks;
	}
}

static inline bool count_created(struct counter *counter, const struct allo_event *event,
				 const struct allo_outcome *outcome, uint32_t place,
				 struct allo_error *err)
{
	struct allo_weight weight = allo_weigh(&counter->blocks.weighing, event->size, event->ns);
	struct count *thread = &counter->threads.at[event->stream];

	if (!allo_vec_cover(&counter->owner, (size_t)place + 1))
		return allo_fail_memory(err);
	ALLO_ASSERT(event->stream < counter->threads.len);
	counter->owner.at[place] = event->stream;
	save_peak(counter, thread);
	thread->allocations += weight.blocks;
	thread->alloc_bytes += weight.bytes;
	thread->live_bytes += weight.bytes;
	thread->live_blocks += weight.blocks;
	if (thread->live_bytes > thread->max_bytes)
		thread->max_bytes = thread->live_bytes;
	counter->peaks += (outcome->flags & ALLO_OUTCOME_PEAK) != 0;
	return true;
}

static bool count_outcomes(struct counter *counter, const struct allo_event_span *span,
			   const struct allo_outcomes *outcomes, struct allo_error *err)
{
	const struct allo_weighing *weighing = &counter->blocks.weighing;
	const struct allo_outcome *retired = outcomes->retired;
	struct allo_weight weight;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &outcomes->at[i];

		if (allo_outcome_ends_block(outcome, event)) {
			count_end(counter, event, outcome);
		} else if (outcome->flags & ALLO_OUTCOME_LATE) {
			weight = allo_weigh(weighing, outcome->size, outcome->birth_ns);
			counter->threads.at[event->stream].frees += weight.blocks;
		}
		if (outcome->flags & ALLO_OUTCOME_RETIRED) {
			weight = allo_weigh(weighing, retired->size, retired->birth_ns);
			take_off(counter, retired++, &weight);
		}
		if (outcome->flags & ALLO_OUTCOME_CREATED &&
		    !count_created(counter, event, outcome, outcomes->place[i], err))
			return false;
	}
	return true;
}

/* Resets all but the live blocks. */
static void restart(struct counter *counter)
{
	counter->peaks++;
	for (size_t i = 0; i < counter->threads.len; i++) {
		struct count *thread = &counter->threads.at[i];

		*thread = (struct count){ .live_bytes = thread->live_bytes,
					  .live_blocks = thread->live_blocks,
					  .max_bytes = thread->live_bytes };
	}
}

static bool replay(struct counter *counter, struct allo_window_events *events, uint64_t from_ns,
		   struct allo_error *err)
{
	struct allo_outcomes outcomes;
	struct allo_event_span span;
	bool has_begun = from_ns == 0, is_inside;

	while (allo_window_next(events, &span, &is_inside, err)) {
		if (is_inside && !has_begun) {
			allo_live_blocks_restart(&counter->blocks, from_ns);
			restart(counter);
			has_begun = true;
		}
		if (!allo_live_blocks_apply(&counter->blocks, &span, &outcomes, err) ||
		    !count_outcomes(counter, &span, &outcomes, err))
			return false;
	}
	if (!has_begun) {
		allo_live_blocks_restart(&counter->blocks, from_ns);
		restart(counter);
	}
	return !allo_failed(err);
}

/* Rounds such that the totals of all threads add up.  `sum` is the sum over earlier threads. */
static struct allo_thread_total total_of(const struct count *count, struct count *sum)
{
#define SHARE(field) .field = allo_parts_share(&sum->field, count->field)
	return (struct allo_thread_total){
		SHARE(allocations),     SHARE(alloc_bytes),     SHARE(frees),
		SHARE(frees_of_others), SHARE(freed_by_others), SHARE(temporary_blocks),
		SHARE(live_bytes),      SHARE(live_blocks),     SHARE(peak_bytes),
		SHARE(peak_blocks),     SHARE(max_bytes),
	};
#undef SHARE
}

bool allo_thread_totals_of(struct allo_thread_totals *totals, struct allo_recording *recording,
			   const struct allo_window *window, struct allo_error *err)
{
	ALLO_DEFER(allo_window_close) struct allo_window_events events = { 0 };
	ALLO_DEFER(counter_done) struct counter counter = { .peaks = 1 };
	struct count sum = { 0 };

	if (!allo_vec_cover(&totals->threads, recording->streams.len) ||
	    !allo_vec_cover(&counter.threads, recording->streams.len))
		return allo_fail_memory(err);
	if (!allo_live_blocks_init(&counter.blocks, recording, err) ||
	    !allo_window_open(&events, recording, window, err))
		return false;
	counter.blocks.places.are_wanted = true;
	if (!replay(&counter, &events, window ? window->from_ns : 0, err))
		return false;
	for (size_t i = 0; i < totals->threads.len; i++) {
		save_peak(&counter, &counter.threads.at[i]);
		totals->threads.at[i] = total_of(&counter.threads.at[i], &sum);
	}
	totals->peak_bytes = allo_live_blocks_totals(&counter.blocks).peak_bytes;
	totals->peak_ns = counter.blocks.peak_ns;
	return true;
}
