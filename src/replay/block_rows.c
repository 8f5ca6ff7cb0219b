/* block_rows.c - see block_rows.h. */
#include "replay/block_rows.h"

#include "base/defer.h"
#include "replay/live_blocks.h"
#include "replay/stream_labels.h"

#include <stdlib.h>

enum { ROWS_AT_ONCE = 2 * ALLO_EVENTS_AT_ONCE }; /* an event may end two blocks */

/* What is kept of a live block beside what live_blocks.h keeps. */
struct birth {
	uint64_t number, alloc_ns, first_ns;
	uint32_t stack, first_stack, labels, first_labels, stream;
	bool is_resized;
};

struct making {
	struct allo_window window;
	const struct allo_moment *moment; /* or NULL */
	allo_take_rows *take;
	void *context;
	struct allo_live_blocks blocks;
	struct allo_outcomes outcomes;
	ALLO_VEC(struct birth) births; /* by place */
	struct allo_stream_labels labels;
	uint64_t born, ended;
	struct allo_block_row rows[ROWS_AT_ONCE];
	size_t count;
};

static void making_done(struct making *making)
{
	allo_live_blocks_done(&making->blocks);
	allo_vec_done(&making->births);
	allo_stream_labels_done(&making->labels);
}

static bool hand_on(struct making *making, struct allo_error *err)
{
	size_t count = making->count;

	making->count = 0;
	return count == 0 || making->take(making->context, making->rows, count, err);
}

/* A time alone does not tell which blocks were live at a moment: those that have begun before it
 * and, since rows come in the order in which blocks end, not ended before it. */
static bool is_wanted(const struct making *making, const struct allo_block_row *row, uint64_t index)
{
	const struct allo_window *window = &making->window;

	if (window->threads && !window->threads[row->alloc_stream])
		return false;
	if (making->moment)
		return row->number <= making->moment->born && index >= making->moment->ended;
	return (window->to_ns == 0 || row->alloc_ns < window->to_ns) &&
	       (row->free_ns > window->from_ns || row->alloc_ns >= window->from_ns);
}

static void add_row(struct making *making, const struct birth *birth, uint64_t pointer,
		    uint64_t size, uint64_t free_ns, uint32_t free_stream, unsigned flags)
{
	struct allo_block_row *row = &making->rows[making->count];

	*row = (struct allo_block_row){
		.number = birth->number,
		.alloc_ns = birth->alloc_ns,
		.first_ns = birth->first_ns,
		/* Clocks of two threads may differ. */
		.free_ns = free_ns < birth->alloc_ns ? birth->alloc_ns : free_ns,
		.size = size,
		.pointer = pointer,
		.stack = birth->stack,
		.first_stack = birth->first_stack,
		.labels = birth->labels,
		.first_labels = birth->first_labels,
		.alloc_stream = birth->stream,
		.free_stream = free_stream,
		.flags = flags | (birth->is_resized ? ALLO_ROW_RESIZED : 0),
	};
	making->count += is_wanted(making, row, making->ended++);
}

/* A block that an event of a thread has ended. */
static void add_ended(struct making *making, const struct allo_event *event,
		      const struct allo_outcome *ended)
{
	bool is_resized = event->kind == ALLO_EVENT_RESIZE;
	unsigned flags = 0;

	if (is_resized)
		flags |= ALLO_ROW_RESIZED_ON;
	/* Its place may have been another block's, which this thread made. */
	if (ended->flags & ALLO_OUTCOME_TEMPORARY &&
	    making->births.at[ended->number].stream == event->stream)
		flags |= ALLO_ROW_TEMPORARY;
	add_row(making, &making->births.at[ended->number], is_resized ? event->old : event->pointer,
		ended->size, event->ns,
		event->kind == ALLO_EVENT_RETIRE ? ALLO_NO_STREAM : event->stream, flags);
}

static bool add_birth(struct making *making, const struct allo_event *event, size_t index,
		      const struct birth *before, struct allo_error *err)
{
	const struct allo_outcome *outcome = &making->outcomes.at[index];
	uint32_t place = making->outcomes.place[index];
	uint32_t labels = allo_stream_labels_of(&making->labels, event->stream);
	struct birth birth = { .number = ++making->born,
			       .alloc_ns = event->ns,
			       .first_ns = event->ns,
			       .stack = outcome->new_stack,
			       .first_stack = outcome->new_stack,
			       .labels = labels,
			       .first_labels = labels,
			       .stream = event->stream,
			       .is_resized = event->kind == ALLO_EVENT_RESIZE };

	if (before) {
		birth.first_ns = before->first_ns;
		birth.first_stack = before->first_stack;
		birth.first_labels = before->first_labels;
	} else if (outcome->flags & ALLO_OUTCOME_LATE) {
		birth.first_ns = outcome->birth_ns;
		birth.first_stack = outcome->stack;
	}
	if (!allo_vec_cover(&making->births, place + (size_t)1))
		return allo_fail_memory(err);
	making->births.at[place] = birth;
	return true;
}

static bool add_outcomes(struct making *making, const struct allo_event_span *span,
			 struct allo_error *err)
{
	const struct allo_outcome *retired = making->outcomes.retired;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &making->outcomes.at[i];
		struct birth before;
		bool ends = allo_outcome_ends_block(outcome, event);

		if (event->kind == ALLO_EVENT_LABELS &&
		    !allo_stream_labels_take(&making->labels, event, err))
			return false;
		if (ends) {
			before = making->births.at[outcome->number];
			add_ended(making, event, outcome);
		}
		/* Who has freed it is not known yet. */
		if (outcome->flags & ALLO_OUTCOME_RETIRED) {
			add_row(making, &making->births.at[retired->number], event->pointer,
				retired->size, event->ns, ALLO_NO_STREAM, 0);
			retired++;
		}
		if (outcome->flags & ALLO_OUTCOME_CREATED &&
		    !add_birth(making, event, i, ends ? &before : NULL, err))
			return false;
	}
	return hand_on(making, err);
}

static int compare_blocks(const void *left, const void *right, void *context)
{
	const struct making *making = context;
	const struct allo_live_block *const *a = left, *const *b = right;
	uint64_t first = making->births.at[(*a)->number].number;
	uint64_t second = making->births.at[(*b)->number].number;

	return first < second ? -1 : first > second;
}

/* Those that are live at the end, in the order of their birth. */
static bool add_live(struct making *making, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) const struct allo_live_block **live = NULL;
	const struct allo_block_table *table = &making->blocks.table;
	size_t count = 0;

	live = malloc((making->blocks.count + 1) * sizeof(*live));
	if (!live)
		return allo_fail_memory(err);
	for (size_t i = 0; i < allo_block_places(table); i++) {
		if (table->at[i].pointer != 0)
			live[count++] = &table->at[i];
	}
	qsort_r(live, count, sizeof(*live), compare_blocks, making);
	for (size_t i = 0; i < count; i++) {
		add_row(making, &making->births.at[live[i]->number], live[i]->pointer,
			live[i]->size, ALLO_NEVER, ALLO_NO_STREAM, 0);
		if (making->count == ROWS_AT_ONCE && !hand_on(making, err))
			return false;
	}
	return hand_on(making, err);
}

static bool make_rows(struct making *making, struct allo_recording *recording,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	struct allo_event_span span;

	if (!allo_live_blocks_init(&making->blocks, recording, err) ||
	    !allo_events_open(&events, recording, err))
		return false;
	making->blocks.places.are_wanted = true;
	while (allo_events_next(&events, &span, err)) {
		if (!allo_live_blocks_apply(&making->blocks, &span, &making->outcomes, err) ||
		    !add_outcomes(making, &span, err))
			return false;
	}
	return !allo_failed(err) && add_live(making, err);
}

static bool hand_out(struct allo_recording *recording, const struct allo_window *window,
		     const struct allo_moment *moment, allo_take_rows *take, void *context,
		     struct allo_error *err)
{
	struct making *making = calloc(1, sizeof(*making));
	bool ok;

	if (!making)
		return allo_fail_memory(err);
	if (window)
		making->window = *window;
	making->moment = moment;
	making->take = take;
	making->context = context;
	ok = make_rows(making, recording, err);
	making_done(making);
	free(making);
	return ok;
}

bool allo_block_rows(struct allo_recording *recording, const struct allo_window *window,
		     allo_take_rows *take, void *context, struct allo_error *err)
{
	return hand_out(recording, window, NULL, take, context, err);
}

bool allo_block_rows_at(struct allo_recording *recording, const struct allo_moment *moment,
			const bool *threads, allo_take_rows *take, void *context,
			struct allo_error *err)
{
	return hand_out(recording, &(struct allo_window){ .threads = threads }, moment, take,
			context, err);
}
