/* event_column_reader.c - see event_columns.h: reading. */
#include "replay/event_column_codes.h"
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
static bool take_gap(struct allo_column_reader *reader, enum allo_event_column c, uint64_t *gap)
{
	*gap = UINT64_MAX;
	return reader->at[c] == reader->end[c] || take_number(reader, c, gap);
}

bool allo_columns_unpack(struct allo_column_reader *reader, ZSTD_DCtx *zstd, size_t count,
			 struct allo_text packed, uint8_t *bytes, size_t len)
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
	reader->is_damaged = false;
	return len == 0 && take_gap(reader, ALLO_COLUMN_TIME_GAPS, &reader->until_time) &&
	       take_gap(reader, ALLO_COLUMN_RUN_GAPS, &reader->until_run);
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

static bool take_time(struct allo_column_reader *reader, struct allo_column_state *state)
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

size_t allo_columns_take(struct allo_column_reader *reader, struct allo_column_state *state,
			 struct allo_event *events, size_t room, size_t threads)
{
	size_t count = 0;

	if (allo_columns_left(reader) > 0)
		reader->is_damaged |= state->thread >= threads;
	while (count < room && !reader->is_damaged && allo_columns_left(reader) > 0) {
		if ((reader->until_run == 0 && !take_thread(reader, state, threads)) ||
		    (reader->until_time == 0 && !take_time(reader, state)) ||
		    !take_event(reader, state, &events[count])) {
			reader->is_damaged = true;
			break;
		}
		reader->until_time--;
		reader->until_run--;
		count++;
	}
	return count;
}
