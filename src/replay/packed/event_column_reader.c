/* event_column_reader.c - see event_columns.h: reading. */
#include "replay/packed/event_column_codes.h"
#include "wire/varint.h"

#include <zstd.h>

static inline bool take_byte(struct allo_column_reader *reader, enum allo_event_column c,
			     uint8_t *byte)
{
	if (reader->at[c] == reader->end[c])
		return false;
	*byte = *reader->at[c]++;
	return true;
}

static inline bool take_number(struct allo_column_reader *reader, enum allo_event_column c,
			       uint64_t *number)
{
	const uint8_t *at = reader->at[c];

	if (at < reader->end[c] && *at < 0x80) {
		*number = *at;
		reader->at[c]++;
		return true;
	}
	return allo_varint_take(&reader->at[c], reader->end[c], number);
}

/* Events until the next one of a column of gaps; none follows where it is at its end. */
static inline bool take_gap(struct allo_column_reader *reader, enum allo_event_column c,
			    uint64_t *gap)
{
	*gap = UINT64_MAX;
	return reader->at[c] == reader->end[c] || take_number(reader, c, gap);
}

/* To be called when the columns are where they should be. */
static bool begin(struct allo_column_reader *reader, size_t events)
{
	size_t kinds = (size_t)(reader->end[ALLO_COLUMN_KINDS] - reader->at[ALLO_COLUMN_KINDS]);

	reader->left = events;
	reader->is_damaged = false;
	reader->is_modelled = reader->at[ALLO_COLUMN_MODELLED] < reader->end[ALLO_COLUMN_MODELLED];
	if (reader->is_modelled) {
		reader->coder = (struct allo_range_coder){
			.in = reader->at[ALLO_COLUMN_MODELLED],
			.in_end = reader->end[ALLO_COLUMN_MODELLED],
			.runs_in = reader->at[ALLO_COLUMN_SURE_RUNS],
			.runs_end = reader->end[ALLO_COLUMN_SURE_RUNS],
		};
		allo_range_begin_reading(&reader->coder);
	}
	/* Modelled events may take next to no bytes: their number must be believed. */
	return (reader->is_modelled ? kinds == 0 && events <= ALLO_COLUMN_EVENTS_MAX
				    : kinds == events) &&
	       take_gap(reader, ALLO_COLUMN_TIME_GAPS, &reader->until_time) &&
	       take_gap(reader, ALLO_COLUMN_RUN_GAPS, &reader->until_run);
}

bool allo_columns_look(struct allo_column_reader *reader, const struct allo_columns *columns)
{
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		size_t len = columns->column[c].len;

		reader->at[c] = columns->column[c].at;
		reader->end[c] = len > 0 ? reader->at[c] + len : reader->at[c];
	}
	return begin(reader, columns->count);
}

bool allo_columns_unpack(struct allo_column_reader *reader, ZSTD_DCtx *zstd, size_t count,
			 size_t events, struct allo_text packed, uint8_t *bytes, size_t len)
{
	const uint8_t *at = (const uint8_t *)packed.data, *end = at + packed.len;
	uint64_t lengths[ALLO_COLUMNS] = { 0 }, packed_lengths[ALLO_COLUMNS] = { 0 };

	for (size_t c = 0; c < count; c++) {
		if (!allo_varint_take(&at, end, &lengths[c]) ||
		    !allo_varint_take(&at, end, &packed_lengths[c]))
			return false;
	}
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		if (lengths[c] > len || packed_lengths[c] > (uint64_t)(end - at) ||
		    (lengths[c] > 0 && ZSTD_decompressDCtx(zstd, bytes, lengths[c], at,
							   packed_lengths[c]) != lengths[c]))
			return false;
		reader->at[c] = bytes;
		bytes += lengths[c];
		len -= lengths[c];
		reader->end[c] = bytes;
		at += packed_lengths[c];
	}
	return len == 0 && begin(reader, events);
}

/* Goes on to the next thread. */
static bool take_thread(struct allo_column_reader *reader, struct allo_column_state *state,
			size_t threads)
{
	uint64_t thread;

	if (!take_number(reader, ALLO_COLUMN_RUNS, &thread) || thread >= threads ||
	    !take_gap(reader, ALLO_COLUMN_RUN_GAPS, &reader->until_run) || reader->until_run == 0)
		return false;
	state->thread = (uint32_t)thread;
	return true;
}

static inline bool take_time(struct allo_column_reader *reader, struct allo_column_state *state)
{
	uint8_t code;
	uint64_t since;
	unsigned shift;

	if (!take_byte(reader, ALLO_COLUMN_TIMES, &code))
		return false;
	if (code == ALLO_TIME_MORE) {
		if (!take_number(reader, ALLO_COLUMN_LONG_TIMES, &since))
			return false;
		since <<= ALLO_LONG_TIME_SHIFT;
	} else {
		shift = code < 8 ? 0 : code / 4 - 1;
		since = (uint64_t)(code - shift * 4) << shift;
	}
	state->ns += since;
	return take_gap(reader, ALLO_COLUMN_TIME_GAPS, &reader->until_time) &&
	       reader->until_time > 0;
}

/* A stack that is as predicted, or is written. */
static inline bool take_stack(struct allo_column_reader *reader, struct allo_column_state *state,
			      enum allo_event_column c, bool is_predicted, uint32_t *stack)
{
	uint64_t number;

	if (is_predicted)
		return true;
	if (!take_number(reader, c, &number) || number >= state->site_count)
		return false;
	*stack = (uint32_t)number;
	return true;
}

static inline bool take_created(struct allo_column_reader *reader, struct allo_column_state *state,
				uint8_t kind, struct allo_event *event)
{
	uint32_t stack = state->sites[state->stack].next;
	uint64_t size;

	if (!take_stack(reader, state, ALLO_COLUMN_STACKS, kind & ALLO_KIND_STACK, &stack))
		return false;
	size = state->sites[stack].size;
	if (!(kind & ALLO_KIND_SIZE) && !take_number(reader, ALLO_COLUMN_SIZES, &size))
		return false;
	allo_column_learn_created(state, stack, size);
	event->stack = stack;
	event->size = size;
	event->pointer = allo_block_key(stack, state->sites[stack].blocks);
	return true;
}

static inline bool take_ended(struct allo_column_reader *reader, struct allo_column_state *state,
			      uint8_t kind, uint64_t *key)
{
	uint32_t stack = state->sites[state->ended_stack].next_ended, number;
	uint64_t code, high;
	uint8_t byte;

	*key = 0;
	if (kind & ALLO_KIND_UNKNOWN)
		return true;
	if (!take_stack(reader, state, ALLO_COLUMN_ENDED_STACKS, kind & ALLO_KIND_ENDED, &stack) ||
	    !take_byte(reader, ALLO_COLUMN_ENDED, &byte))
		return false;
	code = byte;
	if (byte == ALLO_ENDED_MORE) {
		if (!take_byte(reader, ALLO_COLUMN_ENDED_LOW, &byte) ||
		    !take_number(reader, ALLO_COLUMN_ENDED_HIGH, &high))
			return false;
		code = high << 8 | byte;
	}
	number = (uint32_t)(state->sites[stack].last_ended + 1 + allo_unzigzag(code));
	allo_column_learn_ended(state, stack, number);
	*key = allo_block_key(stack, number);
	return true;
}

/* Both at once: they share a byte. */
static inline void set_kind(struct allo_event *event, enum allo_event_kind kind)
{
	event->kind = kind;
	event->lasted = 0;
}

static bool take_note(struct allo_column_reader *reader, struct allo_column_state *state,
		      enum allo_event_kind kind, struct allo_event *event)
{
	uint64_t stack = 0;

	set_kind(event, kind);
	event->pointer = 0;
	if (!take_number(reader, kind == ALLO_EVENT_LABELS ? ALLO_COLUMN_LABELS : ALLO_COLUMN_NOTES,
			 &event->note))
		return false;
	if (kind == ALLO_EVENT_OWN && (!take_number(reader, ALLO_COLUMN_NOTES, &stack) ||
				       !take_number(reader, ALLO_COLUMN_NOTES, &event->size)))
		return false;
	if (stack >= state->site_count)
		return false;
	event->stack = (uint32_t)stack;
	state->notes++;
	state->silent += kind == ALLO_EVENT_LABELS;
	return true;
}

static inline bool take_event(struct allo_column_reader *reader, struct allo_column_state *state,
			      struct allo_event *event)
{
	uint8_t kind;

	if (!take_byte(reader, ALLO_COLUMN_KINDS, &kind))
		return false;
	event->ns = state->ns;
	event->stream = state->thread & ALLO_STREAMS_MAX;
	event->old = event->size = 0;
	event->stack = 0;
	switch (kind & ALLO_KIND_WHAT) {
	case ALLO_KIND_ALLOC:
		set_kind(event, ALLO_EVENT_ALLOC);
		return take_created(reader, state, kind, event);
	case ALLO_KIND_FREE:
		set_kind(event, ALLO_EVENT_FREE);
		return take_ended(reader, state, kind, &event->pointer);
	case ALLO_KIND_RESIZE:
		set_kind(event, ALLO_EVENT_RESIZE);
		return take_ended(reader, state, kind, &event->old) &&
		       take_created(reader, state, kind, event);
	case ALLO_KIND_RESIZE_FAILED:
		set_kind(event, ALLO_EVENT_RESIZE_FAILED);
		return take_ended(reader, state, kind, &event->pointer);
	case ALLO_KIND_RETIRE:
		set_kind(event, ALLO_EVENT_RETIRE);
		if (!take_ended(reader, state, kind, &event->pointer))
			return false;
		state->silent++;
		return true;
	case ALLO_KIND_LABELS:
		return take_note(reader, state, ALLO_EVENT_LABELS, event);
	case ALLO_KIND_MARK:
		return take_note(reader, state, ALLO_EVENT_MARK, event);
	default:
		return take_note(reader, state, ALLO_EVENT_OWN, event);
	}
}

/* Who does something, and when. */
static inline bool take_moment(struct allo_column_reader *reader, struct allo_column_state *state,
			       size_t threads)
{
	if ((reader->until_run == 0 && !take_thread(reader, state, threads)) ||
	    (reader->until_time == 0 && !take_time(reader, state)))
		return false;
	reader->until_time--;
	reader->until_run--;
	return true;
}

static size_t take_events(struct allo_column_reader *reader, struct allo_column_state *state,
			  struct allo_event *events, size_t wanted, size_t threads)
{
	size_t count = 0;

	while (count < wanted && take_moment(reader, state, threads) &&
	       take_event(reader, state, &events[count]))
		count++;
	return count;
}

/* What a model does not know of an event that it has taken. */
static bool complete(struct allo_column_reader *reader, struct allo_column_state *state,
		     struct allo_event *event)
{
	event->ns = state->ns;
	event->stream = state->thread & ALLO_STREAMS_MAX;
	state->silent += event->kind == ALLO_EVENT_RETIRE;
	return event->kind < ALLO_EVENT_LABELS || take_note(reader, state, event->kind, event);
}

static size_t take_modelled(struct allo_column_reader *reader, struct allo_column_state *state,
			    struct allo_event *events, size_t wanted, size_t threads)
{
	size_t count = 0, most;

	most = allo_event_model_read(reader->model, &reader->coder, events, wanted);
	while (count < most && take_moment(reader, state, threads) &&
	       complete(reader, state, &events[count]))
		count++;
	return count;
}

size_t allo_columns_take(struct allo_column_reader *reader, struct allo_column_state *state,
			 struct allo_event *events, size_t room, size_t threads)
{
	size_t wanted = reader->left < room ? reader->left : room, count;

	if (wanted > 0)
		reader->is_damaged |= state->thread >= threads;
	if (reader->is_damaged)
		return 0;
	count = reader->is_modelled ? take_modelled(reader, state, events, wanted, threads)
				    : take_events(reader, state, events, wanted, threads);
	reader->is_damaged = count < wanted;
	reader->left -= count;
	return count;
}
