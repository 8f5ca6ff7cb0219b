#include "replay/block_rows.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/events/stream_labels.h"
#include "replay/live_blocks.h"

#include <stdlib.h>

enum { ROWS_AT_ONCE = 2 * ALLO_EVENTS_AT_ONCE }; /* an event ends at most two blocks */

/* Instants. */

/* A search for an instant: the state after the events so far, and the result. */
struct search {
	struct allo_instant now;
	struct allo_weighing weighing;
	allo_parts bytes;         /* live bytes of the wanted threads */
	const bool *threads;      /* NULL: all */
	ALLO_VEC(bool) is_wanted; /* by place of a live block; see live_blocks.h */
	bool is_peak; /* search for the peak, else for the last instant that is not after ns */
	uint64_t ns;
	allo_parts most;
	struct allo_instant found;
};

static void search_done(struct search *search)
{
	allo_vec_done(&search->is_wanted);
}

static void search_end(struct search *search, const struct allo_outcome *ended)
{
	ALLO_ASSERT(ended->number < search->is_wanted.len && search->now.ended < search->now.born);
	search->now.ended++;
	if (search->is_wanted.at[ended->number])
		search->bytes -= allo_weigh(&search->weighing, ended->size, ended->birth_ns).bytes;
}

static bool search_birth(struct search *search, const struct allo_event *event, uint32_t place,
			 struct allo_error *err)
{
	bool is_wanted = !search->threads || search->threads[event->stream];

	if (!allo_vec_cover(&search->is_wanted, (size_t)place + 1))
		return allo_fail_memory(err);
	search->is_wanted.at[place] = is_wanted;
	search->now.born++;
	if (!is_wanted)
		return true;
	search->bytes += allo_weigh(&search->weighing, event->size, event->ns).bytes;
	if (search->is_peak && search->bytes > search->most) {
		search->most = search->bytes;
		search->found = search->now;
	}
	return true;
}

/* False at the first event after the wanted time, and on failure. */
static bool search_span(struct search *search, const struct allo_event_span *span,
			const struct allo_outcomes *outcomes, struct allo_error *err)
{
	const struct allo_outcome *retired = outcomes->retired;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &outcomes->at[i];

		if (!search->is_peak && event->ns > search->ns)
			return false;
		if (allo_outcome_ends_block(outcome, event))
			search_end(search, outcome);
		if (outcome->flags & ALLO_OUTCOME_RETIRED)
			search_end(search, retired++);
		if (outcome->flags & ALLO_OUTCOME_CREATED &&
		    !search_birth(search, event, outcomes->place[i], err))
			return false;
	}
	return true;
}

static bool run_search(struct search *search, struct allo_recording *recording,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	ALLO_DEFER(allo_live_blocks_done) struct allo_live_blocks blocks = { 0 };
	struct allo_outcomes outcomes;
	struct allo_event_span span;

	if (!allo_live_blocks_init(&blocks, recording, err) ||
	    !allo_events_open(&events, recording, err))
		return false;
	blocks.places.are_wanted = true;
	search->weighing = blocks.weighing;
	while (allo_events_next(&events, &span, err)) {
		if (!allo_live_blocks_apply(&blocks, &span, &outcomes, err) ||
		    !search_span(search, &span, &outcomes, err))
			break;
	}
	if (!search->is_peak)
		search->found = search->now;
	return !allo_failed(err);
}

bool allo_instant_of_peak(struct allo_instant *instant, struct allo_recording *recording,
			  const bool *threads, struct allo_error *err)
{
	ALLO_DEFER(search_done) struct search search = { .threads = threads, .is_peak = true };

	if (!run_search(&search, recording, err))
		return false;
	*instant = search.found;
	return true;
}

bool allo_instant_at(struct allo_instant *instant, struct allo_recording *recording, uint64_t ns,
		     struct allo_error *err)
{
	ALLO_DEFER(search_done) struct search search = { .ns = ns };

	if (!run_search(&search, recording, err))
		return false;
	*instant = search.found;
	return true;
}

bool allo_instant_of_view(struct allo_instant *instant, struct allo_recording *recording,
			  enum allo_view_instant at, const struct allo_window *window,
			  struct allo_error *err)
{
	if (at == ALLO_AT_PEAK)
		return allo_instant_of_peak(instant, recording, window->threads, err);
	return allo_instant_at(instant, recording,
			       window->to_ns > 0 ? window->to_ns - 1 : UINT64_MAX, err);
}

/* Rows. */

/* Facts about a live block beyond those in live_blocks.h. */
struct birth {
	uint64_t number, first_number, alloc_ns, first_ns;
	uint32_t stack, first_stack, labels, first_labels, stream, reallocs;
	bool is_resized;
};

struct maker {
	struct allo_window window;
	const struct allo_instant *instant; /* or NULL */
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

static void maker_done(struct maker *maker)
{
	allo_live_blocks_done(&maker->blocks);
	allo_vec_done(&maker->births);
	allo_stream_labels_done(&maker->labels);
}

static bool hand_on(struct maker *maker, struct allo_error *err)
{
	size_t count = maker->count;

	maker->count = 0;
	return count == 0 || maker->take(maker->context, maker->rows, count, err);
}

/* A block was live at an instant if it was born before it and, since rows come in the order in
 * which blocks end, did not end before it. */
static bool is_wanted(const struct maker *maker, const struct allo_block_row *row, uint64_t index)
{
	const struct allo_window *window = &maker->window;

	if (window->threads && !window->threads[row->alloc_stream])
		return false;
	if (maker->instant)
		return row->number <= maker->instant->born && index >= maker->instant->ended;
	return (window->to_ns == 0 || row->alloc_ns < window->to_ns) &&
	       (row->free_ns > window->from_ns || row->alloc_ns >= window->from_ns);
}

static void add_row(struct maker *maker, const struct birth *birth, uint64_t pointer, uint64_t size,
		    uint64_t free_ns, uint32_t free_stream, unsigned flags)
{
	struct allo_block_row *row = &maker->rows[maker->count];

	*row = (struct allo_block_row){
		.number = birth->number,
		.first_number = birth->first_number,
		.alloc_ns = birth->alloc_ns,
		.first_ns = birth->first_ns,
		/* Clocks of two processors may differ. */
		.free_ns = free_ns < birth->alloc_ns ? birth->alloc_ns : free_ns,
		.size = size,
		.pointer = pointer,
		.stack = birth->stack,
		.first_stack = birth->first_stack,
		.labels = birth->labels,
		.first_labels = birth->first_labels,
		.alloc_stream = birth->stream,
		.free_stream = free_stream,
		.reallocs = birth->reallocs,
		.flags = flags | (birth->is_resized ? ALLO_ROW_RESIZED : 0),
	};
	ALLO_ASSERT(maker->count < ROWS_AT_ONCE && maker->ended < maker->born);
	maker->count += is_wanted(maker, row, maker->ended++);
}

/* The row of a block that an event ends. */
static void add_ended(struct maker *maker, const struct allo_event *event,
		      const struct allo_outcome *ended)
{
	bool is_resized = event->kind == ALLO_EVENT_RESIZE;
	unsigned flags = 0;

	ALLO_ASSERT(ended->number < maker->births.len);
	if (is_resized)
		flags |= ALLO_ROW_RESIZED_ON;
	/* The outcome may be about an earlier block of this thread that had the same place. */
	if (ended->flags & ALLO_OUTCOME_TEMPORARY &&
	    maker->births.at[ended->number].stream == event->stream)
		flags |= ALLO_ROW_TEMPORARY;
	add_row(maker, &maker->births.at[ended->number], is_resized ? event->old : event->pointer,
		ended->size, event->ns,
		event->kind == ALLO_EVENT_RETIRE ? ALLO_NO_STREAM : event->stream, flags);
}

static bool add_birth(struct maker *maker, const struct allo_event *event, size_t index,
		      const struct birth *before, struct allo_error *err)
{
	const struct allo_outcome *outcome = &maker->outcomes.at[index];
	uint32_t place = maker->outcomes.place[index];
	uint32_t labels = allo_stream_labels_of(&maker->labels, event->stream);
	struct birth birth = { .number = ++maker->born,
			       .alloc_ns = event->ns,
			       .first_ns = event->ns,
			       .stack = outcome->new_stack,
			       .first_stack = outcome->new_stack,
			       .labels = labels,
			       .first_labels = labels,
			       .stream = event->stream,
			       .is_resized = event->kind == ALLO_EVENT_RESIZE };

	birth.first_number = birth.number;
	if (before) {
		birth.first_number = before->first_number;
		birth.reallocs = before->reallocs + 1;
		birth.first_ns = before->first_ns;
		birth.first_stack = before->first_stack;
		birth.first_labels = before->first_labels;
	} else if (outcome->flags & ALLO_OUTCOME_LATE) {
		birth.first_ns = outcome->birth_ns;
		birth.first_stack = outcome->stack;
	}
	if (!allo_vec_cover(&maker->births, place + (size_t)1))
		return allo_fail_memory(err);
	ALLO_ASSERT(place < maker->births.len && birth.number > maker->ended);
	maker->births.at[place] = birth;
	return true;
}

static bool add_outcomes(struct maker *maker, const struct allo_event_span *span,
			 struct allo_error *err)
{
	const struct allo_outcome *retired = maker->outcomes.retired;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &maker->outcomes.at[i];
		struct birth before;
		bool ends = allo_outcome_ends_block(outcome, event);

		if (event->kind == ALLO_EVENT_LABELS &&
		    !allo_stream_labels_take(&maker->labels, event, err))
			return false;
		if (ends) {
			before = maker->births.at[outcome->number];
			add_ended(maker, event, outcome);
		}
		/* The free comes later, and tells the thread. */
		if (outcome->flags & ALLO_OUTCOME_RETIRED) {
			add_row(maker, &maker->births.at[retired->number], event->pointer,
				retired->size, event->ns, ALLO_NO_STREAM, 0);
			retired++;
		}
		if (outcome->flags & ALLO_OUTCOME_CREATED &&
		    !add_birth(maker, event, i, ends ? &before : NULL, err))
			return false;
	}
	return hand_on(maker, err);
}

static int compare_blocks(const void *left, const void *right, void *context)
{
	const struct maker *maker = context;
	const struct allo_live_block *const *a = left, *const *b = right;
	uint64_t first = maker->births.at[(*a)->number].number;
	uint64_t second = maker->births.at[(*b)->number].number;

	return first < second ? -1 : first > second;
}

/* Blocks that are live at the end, in the order of their birth. */
static bool add_live(struct maker *maker, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) const struct allo_live_block **live = NULL;
	const struct allo_block_table *table = &maker->blocks.table;
	size_t count = 0;

	live = calloc((size_t)maker->blocks.count + 1, sizeof(*live));
	if (!live)
		return allo_fail_memory(err);
	for (size_t i = 0; i < allo_block_places(table); i++) {
		if (table->at[i].pointer != 0)
			live[count++] = &table->at[i];
	}
	ALLO_ASSERT(count == maker->blocks.count);
	qsort_r(live, count, sizeof(*live), compare_blocks, maker);
	for (size_t i = 0; i < count; i++) {
		add_row(maker, &maker->births.at[live[i]->number], live[i]->pointer, live[i]->size,
			ALLO_NEVER, ALLO_NO_STREAM, 0);
		if (maker->count == ROWS_AT_ONCE && !hand_on(maker, err))
			return false;
	}
	return hand_on(maker, err);
}

static bool make_rows(struct maker *maker, struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	struct allo_event_span span;

	if (!allo_live_blocks_init(&maker->blocks, recording, err) ||
	    !allo_events_open(&events, recording, err))
		return false;
	maker->blocks.places.are_wanted = true;
	while (allo_events_next(&events, &span, err)) {
		if (!allo_live_blocks_apply(&maker->blocks, &span, &maker->outcomes, err) ||
		    !add_outcomes(maker, &span, err))
			return false;
	}
	return !allo_failed(err) && add_live(maker, err);
}

static bool hand_out(struct allo_recording *recording, const struct allo_window *window,
		     const struct allo_instant *instant, allo_take_rows *take, void *context,
		     struct allo_error *err)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	bool ok;

	if (!maker)
		return allo_fail_memory(err);
	if (window)
		maker->window = *window;
	maker->instant = instant;
	maker->take = take;
	maker->context = context;
	ok = make_rows(maker, recording, err);
	maker_done(maker);
	free(maker);
	return ok;
}

bool allo_block_rows(struct allo_recording *recording, const struct allo_window *window,
		     allo_take_rows *take, void *context, struct allo_error *err)
{
	return hand_out(recording, window, NULL, take, context, err);
}

bool allo_block_rows_at(struct allo_recording *recording, const struct allo_instant *instant,
			const bool *threads, allo_take_rows *take, void *context,
			struct allo_error *err)
{
	return hand_out(recording, &(struct allo_window){ .threads = threads }, instant, take,
			context, err);
}
