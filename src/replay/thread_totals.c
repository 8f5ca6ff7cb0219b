/* thread_totals.c - see thread_totals.h. */
#include "replay/thread_totals.h"

#include "base/defer.h"

/* A thread while it is counted; the sums of struct allo_thread_total, in parts (weights.h). */
struct count {
	allo_parts allocations, alloc_bytes;
	allo_parts frees, frees_of_others, freed_by_others;
	allo_parts temporary_blocks;
	allo_parts live_bytes, live_blocks, max_bytes, peak_bytes, peak_blocks;
	uint64_t of_peak; /* this one */
};

struct counting {
	struct allo_live_blocks blocks;
	ALLO_VEC(struct count) threads; /* by stream */
	uint64_t peaks;                 /* how often there was more than ever before */
	ALLO_VEC(uint32_t) owner;       /* streams, by place: see live_blocks.h */
};

static void counting_done(struct counting *counting)
{
	allo_live_blocks_done(&counting->blocks);
	allo_vec_done(&counting->threads);
	allo_vec_done(&counting->owner);
}

void allo_thread_totals_done(struct allo_thread_totals *totals)
{
	allo_vec_done(&totals->threads);
}

/* What a thread held at the last peak can be seen until it changes: it is noted just before. */
static inline void note_peak(const struct counting *counting, struct count *thread)
{
	if (thread->of_peak != counting->peaks) {
		thread->peak_bytes = thread->live_bytes;
		thread->peak_blocks = thread->live_blocks;
		thread->of_peak = counting->peaks;
	}
}

static struct count *owner_of(const struct counting *counting, uint32_t place)
{
	return &counting->threads.at[counting->owner.at[place]];
}

/* A block is gone; who has ended it is counted elsewhere. */
static inline void take_off(struct counting *counting, const struct allo_outcome *ended,
			    const struct allo_weight *weight)
{
	struct count *owner = owner_of(counting, ended->number);

	note_peak(counting, owner);
	owner->live_bytes -= weight->bytes;
	owner->live_blocks -= weight->blocks;
}

static inline void count_end(struct counting *counting, const struct allo_event *event,
			     const struct allo_outcome *ended)
{
	struct allo_weight weight = allo_weigh(&counting->blocks.weighing, ended->size);
	struct count *owner = owner_of(counting, ended->number);
	struct count *own = &counting->threads.at[event->stream];

	take_off(counting, ended, &weight);
	/* Who has freed that is not known yet. */
	if (event->kind == ALLO_EVENT_RETIRE)
		return;
	own->frees += weight.blocks;
	/* The place of another thread's block may have been that of one that this thread made. */
	if (owner == own) {
		if (ended->flags & ALLO_OUTCOME_TEMPORARY)
			own->temporary_blocks += weight.blocks;
	} else {
		own->frees_of_others += weight.blocks;
		owner->freed_by_others += weight.blocks;
	}
}

static inline bool count_created(struct counting *counting, const struct allo_event *event,
				 const struct allo_outcome *outcome, uint32_t place,
				 struct allo_error *err)
{
	struct allo_weight weight = allo_weigh(&counting->blocks.weighing, event->size);
	struct count *thread = &counting->threads.at[event->stream];

	if (!allo_vec_cover(&counting->owner, (size_t)place + 1))
		return allo_fail_memory(err);
	counting->owner.at[place] = event->stream;
	note_peak(counting, thread);
	thread->allocations += weight.blocks;
	thread->alloc_bytes += weight.bytes;
	thread->live_bytes += weight.bytes;
	thread->live_blocks += weight.blocks;
	if (thread->live_bytes > thread->max_bytes)
		thread->max_bytes = thread->live_bytes;
	counting->peaks += (outcome->flags & ALLO_OUTCOME_PEAK) != 0;
	return true;
}

static bool count_outcomes(struct counting *counting, const struct allo_event_span *span,
			   const struct allo_outcomes *outcomes, struct allo_error *err)
{
	const struct allo_weighing *weighing = &counting->blocks.weighing;
	const struct allo_outcome *retired = outcomes->retired;
	struct allo_weight weight;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &outcomes->at[i];

		if (allo_outcome_ends_block(outcome, event)) {
			count_end(counting, event, outcome);
		} else if (outcome->flags & ALLO_OUTCOME_LATE) {
			weight = allo_weigh(weighing, outcome->size);
			counting->threads.at[event->stream].frees += weight.blocks;
		}
		if (outcome->flags & ALLO_OUTCOME_RETIRED) {
			weight = allo_weigh(weighing, retired->size);
			take_off(counting, retired++, &weight);
		}
		if (outcome->flags & ALLO_OUTCOME_CREATED &&
		    !count_created(counting, event, outcome, outcomes->place[i], err))
			return false;
	}
	return true;
}

/* Forgets what has happened so far, but not what is live. */
static void restart(struct counting *counting)
{
	counting->peaks++;
	for (size_t i = 0; i < counting->threads.len; i++) {
		struct count *thread = &counting->threads.at[i];

		*thread = (struct count){ .live_bytes = thread->live_bytes,
					  .live_blocks = thread->live_blocks,
					  .max_bytes = thread->live_bytes };
	}
}

static bool replay(struct counting *counting, struct allo_window_events *events, uint64_t from_ns,
		   struct allo_error *err)
{
	struct allo_outcomes outcomes;
	struct allo_event_span span;
	bool has_begun = from_ns == 0, is_inside;

	while (allo_window_next(events, &span, &is_inside, err)) {
		if (is_inside && !has_begun) {
			allo_live_blocks_restart(&counting->blocks, from_ns);
			restart(counting);
			has_begun = true;
		}
		if (!allo_live_blocks_apply(&counting->blocks, &span, &outcomes, err) ||
		    !count_outcomes(counting, &span, &outcomes, err))
			return false;
	}
	if (!has_begun) {
		allo_live_blocks_restart(&counting->blocks, from_ns);
		restart(counting);
	}
	return !allo_failed(err);
}

/* `sum` is that of the threads before. */
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
	ALLO_DEFER(counting_done) struct counting counting = { .peaks = 1 }; /* all hold nothing */
	struct count sum = { 0 };

	if (!allo_vec_cover(&totals->threads, recording->streams.len) ||
	    !allo_vec_cover(&counting.threads, recording->streams.len))
		return allo_fail_memory(err);
	if (!allo_live_blocks_init(&counting.blocks, recording, err) ||
	    !allo_window_open(&events, recording, window, err))
		return false;
	counting.blocks.places.are_wanted = true;
	if (!replay(&counting, &events, window ? window->from_ns : 0, err))
		return false;
	for (size_t i = 0; i < totals->threads.len; i++) {
		note_peak(&counting, &counting.threads.at[i]);
		totals->threads.at[i] = total_of(&counting.threads.at[i], &sum);
	}
	totals->peak_bytes = allo_live_blocks_totals(&counting.blocks).peak_bytes;
	totals->peak_ns = counting.blocks.peak_ns;
	return true;
}
