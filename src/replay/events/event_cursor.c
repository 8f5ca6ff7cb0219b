#include "replay/events/event_cursor.h"

#include "base/assert.h"
#include "replay/ring/earlier.h"
#include "wire/events.h"

#include <stdlib.h>

/* Decoding. */

/* A varint of at least three bytes; reads at most ALLO_VARINT_MAX bytes with the first. */
static __attribute__((noinline)) uint64_t take_long(const uint8_t **at, uint64_t first,
						    bool *is_bad)
{
	const uint8_t *next = *at;
	uint64_t value = first & 0x7f;

	for (unsigned shift = 7; shift < 64; shift += 7) {
		uint8_t byte = *next++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*is_bad |= shift == 63 && byte > 1;
			*at = next;
			return value;
		}
	}
	*is_bad = true;
	*at = next;
	return 0;
}

static inline uint64_t take(const uint8_t **at, bool *is_bad)
{
	uint64_t first = *(*at)++;
	uint64_t second;

	if (first < 0x80)
		return first;
	second = **at;
	if (second < 0x80) {
		(*at)++;
		return first - 0x80 + (second << 7);
	}
	return take_long(at, first, is_bad);
}

/* The time that follows an event, if events are timed. */
static void take_time(struct allo_event_cursor *cursor, const uint8_t **at, bool *is_bad)
{
	if (!cursor->is_timed)
		return;
	cursor->state->ticks += take(at, is_bad) << ALLO_TICK_SHIFT;
	cursor->ns = allo_ticks_to_ns(cursor->scale, cursor->state->ticks);
}

/* An escape with a number: a time, or the old block of a realloc that starts. */
static void decode_number(struct allo_event_cursor *cursor, uint64_t number, const uint8_t **at,
			  bool *is_bad)
{
	struct allo_event_state *state = cursor->state;
	uint64_t code = number >> 1;

	if ((number & 1) == 0) {
		state->ticks += (number >> 1) << ALLO_TIME_SHIFT;
		cursor->ns = allo_ticks_to_ns(cursor->scale, state->ticks);
		return;
	}
	*is_bad |= code == 0;
	state->pointer += allo_unzigzag(code - 1);
	cursor->resized = state->pointer << 4 | cursor->low;
	cursor->is_resizing = true;
	cursor->low = 0;
	take_time(cursor, at, is_bad);
	cursor->resizing_ns = cursor->ns;
}

/* The duration of a realloc as allo_event.lasted. */
static unsigned lasted(const struct allo_event_cursor *cursor, uint64_t ns)
{
	uint64_t took = ns - cursor->resizing_ns;
	unsigned code = 0;

	while (code < 15 && took > (allo_late_ns << code) / 2)
		code++;
	return code;
}

/* Notes. */

/* Makes an event with the current labels. */
static void put_labels(struct allo_event_cursor *cursor, struct allo_event *event)
{
	event->kind = ALLO_EVENT_LABELS;
	event->pointer = event->size = 0;
	event->note = cursor->sent_labels = cursor->labels;
	event->stack = 0;
	event->ns = cursor->ns;
}

/* Decodes a note.  True if it is an event, in *event. */
static bool decode_note(struct allo_event_cursor *cursor, const uint8_t **at,
			struct allo_event *event, bool *is_bad)
{
	uint64_t kind = take(at, is_bad), stack = 0;

	event->pointer = event->size = 0;
	event->note = take(at, is_bad);
	switch (kind) {
	case ALLO_NOTE_LABELS:
		event->kind = ALLO_EVENT_LABELS;
		break;
	case ALLO_NOTE_MARK:
		event->kind = ALLO_EVENT_MARK;
		break;
	case ALLO_NOTE_EVENT:
		event->kind = ALLO_EVENT_OWN;
		stack = take(at, is_bad);
		event->size = take(at, is_bad);
		break;
	default:
		*is_bad = true;
		return false;
	}
	*is_bad |= stack > UINT32_MAX;
	event->stack = (uint32_t)stack;
	take_time(cursor, at, is_bad);
	event->ns = cursor->ns;
	allo_event_settle(event, cursor->recording);
	if (event->kind != ALLO_EVENT_LABELS)
		return true;
	cursor->labels = (uint32_t)event->note;
	if (cursor->labels == cursor->sent_labels)
		return false;
	put_labels(cursor, event);
	return true;
}

/* Decodes an escape after its zero byte.  True if it is an event, in *event. */
static bool decode_escape(struct allo_event_cursor *cursor, const uint8_t **at,
			  struct allo_event *event, bool *is_bad)
{
	uint64_t escape = take(at, is_bad);

	if (escape >= ALLO_ESCAPES) {
		decode_number(cursor, escape - ALLO_ESCAPES, at, is_bad);
		return false;
	}
	switch (escape) {
	case ALLO_ESCAPE_NOTE:
		return decode_note(cursor, at, event, is_bad);
	case ALLO_ESCAPE_TIMED:
	case ALLO_ESCAPE_UNTIMED:
		cursor->is_timed = escape == ALLO_ESCAPE_TIMED;
		return false;
	case ALLO_ESCAPE_LOW:
		cursor->low = *(*at)++ & 15;
		return false;
	case ALLO_ESCAPE_FAILED:
	case ALLO_ESCAPE_GONE:
		*is_bad |= !cursor->is_resizing;
		cursor->is_resizing = false;
		event->kind = escape == ALLO_ESCAPE_GONE ? ALLO_EVENT_FREE
							 : ALLO_EVENT_RESIZE_FAILED;
		event->pointer = cursor->resized;
		event->old = event->size = 0;
		event->stack = 0;
		take_time(cursor, at, is_bad);
		event->ns = cursor->ns;
		event->lasted = lasted(cursor, event->ns) & 15;
		return true;
	default:
		*is_bad = true;
		return false;
	}
}

/* A stack that the prediction missed, from its code. */
static inline uint64_t stack_of(const struct allo_event_state *state, uint64_t code)
{
	return code & 1 ? state->predictions[(code >> 1) % ALLO_PREDICTIONS].stack : code >> 1;
}

/* Adds low bits to the pointer, and turns an allocation that ends a realloc into a RESIZE. */
static void apply_pending(struct allo_event_cursor *cursor, struct allo_event *event)
{
	event->pointer |= cursor->low;
	cursor->low = 0;
	if (cursor->is_resizing && event->kind == ALLO_EVENT_ALLOC) {
		event->kind = ALLO_EVENT_RESIZE;
		event->lasted = lasted(cursor, event->ns) & 15;
		event->old = cursor->resized;
		cursor->is_resizing = false;
	}
}

static bool has_pending(const struct allo_event_cursor *cursor)
{
	return cursor->is_resizing || cursor->low != 0;
}

/* Fills the batch from the current page; false if the page is damaged.  Each iteration reads at
 * most ALLO_EVENT_MAX bytes, and as many zeros follow the page, so that `at` is compared with `end`
 * only after it.  Hot fields are local variables, so that they stay in registers. */
static bool decode(struct allo_event_cursor *cursor)
{
	struct allo_event_state *state = cursor->state;
	struct allo_tick_scale scale = cursor->scale;
	struct allo_event *event = cursor->batch, *last = cursor->batch + ALLO_EVENTS_AT_ONCE;
	const uint8_t *at = cursor->at, *end = cursor->end;
	uint64_t pointer = state->pointer, ticks = state->ticks, ns = cursor->ns;
	uint32_t last_stack = state->stack;
	bool is_timed = cursor->is_timed, is_pending = has_pending(cursor), is_bad = false;

	ALLO_ASSERT(at <= end);
	if (cursor->labels != cursor->sent_labels)
		put_labels(cursor, event++);
	while (at < end && event < last) {
		const uint8_t *start = at;
		uint8_t head = *at++;
		uint64_t code;
		bool is_event;

		if (head & 1) {
			struct allo_prediction *prediction;
			uint64_t stack, size;

			code = head >> 3 & 15;
			if (head & 0x80)
				code |= take(&at, &is_bad) << 4;
			prediction = &state->predictions[last_stack % ALLO_PREDICTIONS];
			stack = head & 2 ? prediction->next_stack
					 : stack_of(state, take(&at, &is_bad));
			prediction->next_stack = last_stack = (uint32_t)stack;
			prediction = &state->predictions[last_stack % ALLO_PREDICTIONS];
			prediction->stack = last_stack;
			size = head & 4 ? prediction->size : take(&at, &is_bad);
			prediction->size = size <= UINT32_MAX ? (uint32_t)size : 0;
			is_bad |= stack > UINT32_MAX;
			event->size = size;
			event->stack = last_stack;
			event->kind = ALLO_EVENT_ALLOC;
			event->lasted = 0;
		} else if (head != 0) {
			code = head >> 1 & 63;
			if (head & 0x80)
				code |= take(&at, &is_bad) << 6;
			event->size = 0;
			event->stack = 0;
			event->kind = ALLO_EVENT_FREE;
			event->lasted = 0;
		} else {
			state->pointer = pointer;
			state->ticks = ticks;
			cursor->ns = ns;
			is_event = decode_escape(cursor, &at, event, &is_bad);
			pointer = state->pointer;
			ticks = state->ticks;
			ns = cursor->ns;
			is_timed = cursor->is_timed;
			is_pending = has_pending(cursor);
			ALLO_ASSERT(at - start <= ALLO_EVENT_MAX);
			if (at > end || is_bad)
				break;
			event += is_event;
			continue;
		}
		is_bad |= code == 0;
		pointer += allo_unzigzag(code - 1);
		event->pointer = pointer << 4;
		event->old = 0;
		if (is_timed) {
			ticks += take(&at, &is_bad) << ALLO_TICK_SHIFT;
			ns = allo_ticks_to_ns(scale, ticks);
		}
		event->ns = ns;
		if (is_pending) {
			apply_pending(cursor, event);
			is_pending = has_pending(cursor);
		}
		ALLO_ASSERT(at - start <= ALLO_EVENT_MAX);
		if (at > end || is_bad)
			break;
		event++;
	}
	is_bad |= at > end;
	state->pointer = pointer;
	state->ticks = ticks;
	state->stack = last_stack;
	cursor->ns = ns;
	cursor->first = 0;
	cursor->count = (size_t)(event - cursor->batch);
	cursor->at = is_bad ? end : at;
	ALLO_ASSERT(cursor->count <= ALLO_EVENTS_AT_ONCE && cursor->at <= cursor->end);
	return !is_bad;
}

/* Pages. */

/* Continues behind the events that a bounded recording has as sums. */
static void begin_exact(struct allo_event_cursor *cursor)
{
	const struct allo_decoder_state *state = cursor->begin->state;

	cursor->sequence = cursor->begin->sequence;
	cursor->covered = cursor->begin->events;
	if (!state)
		return;
	*cursor->state = state->events;
	cursor->resized = state->resized;
	cursor->resizing_ns = allo_ticks_to_ns(cursor->scale, state->resizing_ticks);
	cursor->labels = allo_recording_same_set(cursor->recording, state->labels);
	cursor->sent_labels = allo_recording_same_set(cursor->recording, state->sent_labels);
	cursor->is_timed = state->is_timed;
	cursor->is_resizing = state->is_resizing;
	cursor->is_lost = state->is_lost;
}

/* The first tick of a time. */
static uint64_t ticks_of(struct allo_tick_scale scale, uint64_t ns)
{
	return scale.first + allo_ns_to_ticks(scale, ns);
}

static void keep_state(const struct allo_event_cursor *cursor, struct allo_decoder_state *state)
{
	*state = (struct allo_decoder_state){
		.events = *cursor->state,
		.resized = cursor->resized,
		.resizing_ticks = ticks_of(cursor->scale, cursor->resizing_ns),
		.labels = cursor->labels,
		.sent_labels = cursor->sent_labels,
		.is_timed = cursor->is_timed,
		.is_resizing = cursor->is_resizing,
		.is_lost = cursor->is_lost,
	};
}

static bool start(struct allo_event_cursor *cursor, struct allo_error *err)
{
	cursor->is_open = true;
	cursor->state = calloc(1, sizeof(*cursor->state));
	cursor->batch = calloc(ALLO_EVENTS_AT_ONCE, sizeof(*cursor->batch));
	if (!cursor->state || !cursor->batch)
		return allo_fail_memory(err);
	/* Decoding sets all other fields. */
	for (size_t i = 0; i < ALLO_EVENTS_AT_ONCE; i++)
		cursor->batch[i].stream = (uint32_t)cursor->stream & ALLO_STREAMS_MAX;
	if (cursor->begin)
		begin_exact(cursor);
	return true;
}

static void start_page(struct allo_event_cursor *cursor, const struct allo_wire_slot *slot)
{
	struct allo_event_state *state = cursor->state;

	if (slot->is_fresh || slot->sequence == 0) {
		memset(state, 0, sizeof(*state));
		cursor->is_timed = cursor->is_resizing = cursor->is_lost = false;
		cursor->labels = 0;
	}
	cursor->low = 0;
	state->ticks = slot->from[0];
	state->pointer = slot->from[1];
	cursor->ns = allo_ticks_to_ns(cursor->scale, state->ticks);
	cursor->page_events = 0;
	if (cursor->page_state)
		keep_state(cursor, cursor->page_state);
}

/* Goes to the next page that can be decoded; false at the end and on failure. */
static bool next_page(struct allo_event_cursor *cursor, struct allo_error *err)
{
	struct allo_gaps *gaps = &cursor->recording->gaps;
	struct allo_wire_slot slot;

	for (;;) {
		if (allo_piece_next(&cursor->piece, &slot, &cursor->at, &cursor->end)) {
			cursor->is_lost |= slot.sequence != cursor->sequence;
			cursor->sequence = slot.is_cut ? UINT64_MAX : (uint64_t)slot.sequence + 1;
			start_page(cursor, &slot);
			cursor->start = cursor->at;
			if (!cursor->is_lost)
				return true;
			gaps->unread_pages++;
			continue;
		}
		if (cursor->piece_count == 0)
			return false;
		cursor->piece_count--;
		if (!allo_recording_load(cursor->recording, cursor->pieces++, &cursor->piece, err))
			return false;
	}
}

/* Leaves out decoded events that are covered by sums. */
static void skip_covered(struct allo_event_cursor *cursor)
{
	size_t count = cursor->covered < cursor->count ? (size_t)cursor->covered : cursor->count;

	cursor->covered -= count;
	cursor->first = count;
	if (count < cursor->count)
		return;
	cursor->page_events += count;
	cursor->first = cursor->count = 0;
}

bool allo_event_cursor_fill(struct allo_event_cursor *cursor, struct allo_error *err)
{
	if (!cursor->is_open && !start(cursor, err))
		return false;
	cursor->page_events += cursor->count;
	cursor->first = cursor->count = 0;
	while (cursor->count == 0) {
		if (cursor->at == cursor->end && !next_page(cursor, err)) {
			cursor->is_over = true;
			return !allo_failed(err);
		}
		if (!decode(cursor)) {
			cursor->is_lost = true;
			/* A page that is cut by the end of the file is not damaged. */
			if (cursor->sequence != UINT64_MAX)
				allo_recording_damage(cursor->recording, cursor->pieces[-1].offset,
						      1);
		}
		if (cursor->covered > 0)
			skip_covered(cursor);
	}
	cursor->next = cursor->batch[cursor->first].ns;
	return true;
}

void allo_event_cursor_free(struct allo_event_cursor *cursor)
{
	allo_piece_bytes_done(&cursor->piece);
	free(cursor->state);
	free(cursor->page_state);
	if (!cursor->borrows_batch)
		free(cursor->batch);
	free(cursor);
}

void allo_event_cursor_place(const struct allo_event_cursor *cursor,
			     struct allo_stream_start *start)
{
	bool is_over = cursor->first == cursor->count && cursor->at == cursor->end;

	ALLO_ASSERT(cursor->is_open && cursor->page_state);
	if (is_over && cursor->sequence != UINT64_MAX && cursor->pieces[-1].is_sealed) {
		/* The next page, which may not be written yet. */
		keep_state(cursor, start->state);
		start->sequence = cursor->sequence;
		start->events = 0;
		return;
	}
	*start->state = *cursor->page_state;
	start->sequence = cursor->sequence == UINT64_MAX ? cursor->pieces[-1].sequence
							 : cursor->sequence - 1;
	start->events = cursor->page_events + cursor->first;
}

/* Following. */

/* Reloads the current page, which may have grown or moved. */
static bool extend_page(struct allo_event_cursor *cursor, const struct allo_piece *piece,
			struct allo_error *err)
{
	size_t consumed = (size_t)(cursor->at - cursor->start);
	struct allo_wire_slot slot;

	ALLO_ASSERT(cursor->start <= cursor->at && cursor->at <= cursor->end);
	if (!allo_recording_load(cursor->recording, piece, &cursor->piece, err))
		return false;
	cursor->start = cursor->at = cursor->end = NULL;
	if (allo_piece_next(&cursor->piece, &slot, &cursor->start, &cursor->end) &&
	    slot.used >= consumed) {
		cursor->at = cursor->start + consumed;
		return true;
	}
	cursor->start = cursor->end = NULL;
	cursor->is_lost = true;
	return true;
}

bool allo_event_cursor_resume(struct allo_event_cursor *cursor, const struct allo_stream *stream,
			      struct allo_error *err)
{
	const struct allo_piece *piece = &cursor->recording->pieces.at[stream->first_piece];
	const struct allo_piece *end = piece + stream->piece_count;

	while (cursor->is_open && piece < end && (uint64_t)piece->sequence + 1 < cursor->sequence)
		piece++;
	if (cursor->is_open && piece < end && (uint64_t)piece->sequence + 1 == cursor->sequence) {
		if (!extend_page(cursor, piece, err))
			return false;
		piece++;
	}
	cursor->pieces = piece;
	cursor->piece_count = (size_t)(end - piece);
	return true;
}
