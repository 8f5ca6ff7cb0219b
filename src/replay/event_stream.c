/* event_stream.c - see event_stream.h. */
#include "replay/event_stream.h"

#include "base/threads.h"
#include "replay/event_ahead.h"
#include "replay/packed_events.h"
#include "wire/events.h"

#include <stdlib.h>

enum { LONG_BYTES = 1 << 20 }; /* of events: some ten milliseconds */

/* Where reading a thread's stream has come to. */
struct allo_event_cursor {
	const struct allo_recording *recording;
	const struct allo_piece *pieces; /* still to come */
	size_t piece_count;
	size_t stream;   /* index */
	uint32_t number; /* the stream's own */
	uint64_t next;   /* ns of the next event, or of where the stream begins */
	bool is_open, is_over;

	struct allo_piece_bytes piece;
	const uint8_t *start, *at, *end; /* of the block at hand */
	uint64_t sequence;               /* of the next block; UINT64_MAX: none can follow */
	struct allo_event_state *state;
	uint64_t ns;          /* of state->ticks */
	uint64_t resized;     /* the block that a realloc has begun with */
	uint8_t low;          /* bits of the next pointer */
	uint32_t labels;      /* of what comes next, */
	uint32_t told_labels; /* and as the last event that told them says */
	bool is_timed, is_resizing;
	bool is_lost; /* what came before is not known: only a fresh block makes sense again */

	struct allo_event *batch; /* ALLO_EVENTS_AT_ONCE of them */
	size_t first, count;      /* those not yet handed out */
};

/* Decoding. */

/* A number of at least two bytes; reads no more than ALLO_VARINT_MAX in all. */
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

/* A time behind an event. */
static void take_time(struct allo_event_cursor *cursor, const uint8_t **at,
		      struct allo_tick_scale scale, bool *is_bad)
{
	if (!cursor->is_timed)
		return;
	cursor->state->ticks += take(at, is_bad) << ALLO_TICK_SHIFT;
	cursor->ns = allo_ticks_to_ns(scale, cursor->state->ticks);
}

/* An escape that stands for a number: a time, or the code of a block that realloc begins with. */
static void decode_number(struct allo_event_cursor *cursor, uint64_t number, const uint8_t **at,
			  struct allo_tick_scale scale, bool *is_bad)
{
	struct allo_event_state *state = cursor->state;
	uint64_t code = number >> 1;

	if ((number & 1) == 0) {
		state->ticks += (number >> 1) << ALLO_TIME_SHIFT;
		cursor->ns = allo_ticks_to_ns(scale, state->ticks);
		return;
	}
	*is_bad |= code == 0;
	state->pointer += allo_unzigzag(code - 1);
	cursor->resized = state->pointer << 4 | cursor->low;
	cursor->is_resizing = true;
	cursor->low = 0;
	take_time(cursor, at, scale, is_bad);
}

/* Notes. */

void allo_event_settle(struct allo_event *event, const struct allo_recording *recording)
{
	event->note = event->kind == ALLO_EVENT_LABELS
			      ? allo_recording_same_set(recording, event->note)
			      : allo_recording_same_text(recording, event->note);
	if (event->stack >= recording->nodes.len)
		event->stack = 0;
}

/* An event that says which labels the stream has from here on. */
static void tell_labels(struct allo_event_cursor *cursor, struct allo_event *event)
{
	event->kind = ALLO_EVENT_LABELS;
	event->pointer = event->size = 0;
	event->note = cursor->told_labels = cursor->labels;
	event->stack = 0;
	event->ns = cursor->ns;
}

/* The varints of a note; whether it is an event, to be put into *event. */
static bool decode_note(struct allo_event_cursor *cursor, const uint8_t **at,
			struct allo_tick_scale scale, struct allo_event *event, bool *is_bad)
{
	uint64_t what = take(at, is_bad), stack = 0;

	event->pointer = event->size = 0;
	event->note = take(at, is_bad);
	switch (what) {
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
	take_time(cursor, at, scale, is_bad);
	event->ns = cursor->ns;
	allo_event_settle(event, cursor->recording);
	if (event->kind != ALLO_EVENT_LABELS)
		return true;
	cursor->labels = (uint32_t)event->note;
	if (cursor->labels == cursor->told_labels)
		return false;
	tell_labels(cursor, event);
	return true;
}

/* An escape, of which the zero is read; whether it is an event, to be put into *event. */
static bool decode_escape(struct allo_event_cursor *cursor, const uint8_t **at,
			  struct allo_tick_scale scale, struct allo_event *event, bool *is_bad)
{
	uint64_t what = take(at, is_bad);

	if (what >= ALLO_ESCAPES) {
		decode_number(cursor, what - ALLO_ESCAPES, at, scale, is_bad);
		return false;
	}
	switch (what) {
	case ALLO_ESCAPE_NOTE:
		return decode_note(cursor, at, scale, event, is_bad);
	case ALLO_ESCAPE_TIMED:
	case ALLO_ESCAPE_UNTIMED:
		cursor->is_timed = what == ALLO_ESCAPE_TIMED;
		return false;
	case ALLO_ESCAPE_LOW:
		cursor->low = *(*at)++ & 15;
		return false;
	case ALLO_ESCAPE_FAILED:
	case ALLO_ESCAPE_GONE:
		*is_bad |= !cursor->is_resizing;
		cursor->is_resizing = false;
		event->kind = what == ALLO_ESCAPE_GONE ? ALLO_EVENT_FREE : ALLO_EVENT_RESIZE_FAILED;
		event->pointer = cursor->resized;
		event->old = event->size = 0;
		event->stack = 0;
		take_time(cursor, at, scale, is_bad);
		event->ns = cursor->ns;
		return true;
	default:
		*is_bad = true;
		return false;
	}
}

/* A stack that was not predicted, by its code. */
static inline uint64_t stack_of(const struct allo_event_state *state, uint64_t code)
{
	return code & 1 ? state->predictions[(code >> 1) % ALLO_PREDICTIONS].stack : code >> 1;
}

/* The pointer is given and may be odd, and an alloc may be what a realloc has come to. */
static void apply_pending(struct allo_event_cursor *cursor, struct allo_event *event)
{
	event->pointer |= cursor->low;
	cursor->low = 0;
	if (cursor->is_resizing && event->kind == ALLO_EVENT_ALLOC) {
		event->kind = ALLO_EVENT_RESIZE;
		event->old = cursor->resized;
		cursor->is_resizing = false;
	}
}

static bool has_pending(const struct allo_event_cursor *cursor)
{
	return cursor->is_resizing || cursor->low != 0;
}

/* Fills the batch from the block at hand; false where the block is damaged.  Each turn reads less
 * than ALLO_EVENT_MAX bytes, so that only the end of a turn has to be checked.  What most turns
 * change is kept in local variables, that is in registers. */
static bool decode(struct allo_event_cursor *cursor, struct allo_tick_scale scale)
{
	struct allo_event_state *state = cursor->state;
	struct allo_event *event = cursor->batch, *last = cursor->batch + ALLO_EVENTS_AT_ONCE;
	const uint8_t *at = cursor->at, *end = cursor->end;
	uint64_t pointer = state->pointer, ticks = state->ticks, ns = cursor->ns;
	uint32_t last_stack = state->stack;
	bool is_timed = cursor->is_timed, is_pending = has_pending(cursor), is_bad = false;

	if (cursor->labels != cursor->told_labels)
		tell_labels(cursor, event++);
	while (at < end && event < last) {
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
		} else if (head != 0) {
			code = head >> 1 & 63;
			if (head & 0x80)
				code |= take(&at, &is_bad) << 6;
			event->size = 0;
			event->stack = 0;
			event->kind = ALLO_EVENT_FREE;
		} else {
			state->pointer = pointer;
			state->ticks = ticks;
			cursor->ns = ns;
			is_event = decode_escape(cursor, &at, scale, event, &is_bad);
			pointer = state->pointer;
			ticks = state->ticks;
			ns = cursor->ns;
			is_timed = cursor->is_timed;
			is_pending = has_pending(cursor);
			if (at > end || is_bad)
				break;
			event += is_event;
			continue;
		}
		is_bad |= code == 0;
		pointer += allo_unzigzag(code - 1);
		event->pointer = pointer << 4;
		event->old = 0;
		if (is_pending) {
			apply_pending(cursor, event);
			is_pending = has_pending(cursor);
		}
		if (is_timed) {
			ticks += take(&at, &is_bad) << ALLO_TICK_SHIFT;
			ns = allo_ticks_to_ns(scale, ticks);
		}
		event->ns = ns;
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
	return !is_bad;
}

/* Blocks. */

static bool start_cursor(struct allo_event_cursor *cursor, struct allo_error *err)
{
	cursor->is_open = true;
	cursor->state = calloc(1, sizeof(*cursor->state));
	cursor->batch = calloc(ALLO_EVENTS_AT_ONCE, sizeof(*cursor->batch));
	if (!cursor->state || !cursor->batch)
		return allo_fail_memory(err);
	/* It stays there: decoding sets all else. */
	for (size_t i = 0; i < ALLO_EVENTS_AT_ONCE; i++)
		cursor->batch[i].stream = (uint32_t)cursor->stream & ALLO_STREAMS_MAX;
	return true;
}

static void start_block(struct allo_event_cursor *cursor, const struct allo_wire_slot *slot,
			struct allo_tick_scale scale)
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
	cursor->ns = allo_ticks_to_ns(scale, state->ticks);
}

/* Goes to the next block that can be decoded; false when there is none, and at failure. */
static bool next_block(struct allo_events *events, struct allo_event_cursor *cursor,
		       struct allo_error *err)
{
	struct allo_lacks *lacks = &events->recording->lacks;
	struct allo_wire_slot slot;

	for (;;) {
		if (allo_piece_next(&cursor->piece, &slot, &cursor->at, &cursor->end)) {
			cursor->is_lost |= slot.sequence != cursor->sequence;
			cursor->sequence = slot.is_cut ? UINT64_MAX : (uint64_t)slot.sequence + 1;
			start_block(cursor, &slot, events->scale);
			cursor->start = cursor->at;
			if (!cursor->is_lost)
				return true;
			lacks->unread_blocks++;
			continue;
		}
		if (cursor->piece_count == 0)
			return false;
		cursor->piece_count--;
		if (!allo_recording_load(events->recording, cursor->pieces++, &cursor->piece, err))
			return false;
	}
}

/* Decodes the next batch of a stream, or finds that it is over. */
static bool fill(struct allo_events *events, struct allo_event_cursor *cursor,
		 struct allo_error *err)
{
	if (!cursor->is_open && !start_cursor(cursor, err))
		return false;
	cursor->count = 0;
	while (cursor->count == 0) {
		if (cursor->at == cursor->end && !next_block(events, cursor, err)) {
			cursor->is_over = true;
			return !allo_failed(err);
		}
		if (!decode(cursor, events->scale)) {
			cursor->is_lost = true;
			/* A block that the file ends within ends anywhere. */
			if (cursor->sequence != UINT64_MAX)
				allo_recording_damage(events->recording, cursor->pieces[-1].offset,
						      1);
		}
	}
	cursor->next = cursor->batch[0].ns;
	return true;
}

static void free_cursor(struct allo_event_cursor *cursor)
{
	allo_piece_bytes_done(&cursor->piece);
	free(cursor->state);
	free(cursor->batch);
	free(cursor);
}

/* Merging. */

static bool comes_before(const struct allo_event_cursor *a, const struct allo_event_cursor *b)
{
	return a->next != b->next ? a->next < b->next : a->stream < b->stream;
}

static void sift_down(struct allo_events *events, size_t at)
{
	struct allo_event_cursor **heap = events->heap.at, *moved = heap[at];
	size_t len = events->heap.len;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= len)
			break;
		if (child + 1 < len && comes_before(heap[child + 1], heap[child]))
			child++;
		if (!comes_before(heap[child], moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

/* `index` is the number that its events have. */
static bool add_cursor(struct allo_events *events, const struct allo_stream *stream, size_t index,
		       struct allo_error *err)
{
	const struct allo_recording *recording = events->recording;
	struct allo_event_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return allo_fail_memory(err);
	cursor->recording = recording;
	cursor->pieces = &recording->pieces.at[stream->first_piece];
	cursor->piece_count = stream->piece_count;
	cursor->stream = index;
	cursor->number = stream->number;
	cursor->next = allo_ticks_to_ns(events->scale, cursor->pieces[0].first_ticks);
	if (!allo_vec_append(&events->heap, &cursor, 1)) {
		free_cursor(cursor);
		return allo_fail_memory(err);
	}
	return true;
}

static void order_heap(struct allo_events *events)
{
	for (size_t i = events->heap.len / 2; i-- > 0;)
		sift_down(events, i);
}

static bool fail_streams(const struct allo_recording *recording, struct allo_error *err)
{
	return allo_fail(err, ALLO_LIMIT, (struct allo_pos){ .file = recording->name },
			 "has more than %d threads", ALLO_STREAMS_MAX);
}

bool allo_events_open(struct allo_events *events, struct allo_recording *recording,
		      struct allo_error *err)
{
	*events = (struct allo_events){ .recording = recording,
					.streams = recording->streams.len,
					.scale = allo_recording_scale(recording) };
	if (recording->streams.len > ALLO_STREAMS_MAX)
		return fail_streams(recording, err);
	if (recording->is_packed) {
		events->packed = allo_packed_events_new(recording, err);
		return events->packed != NULL;
	}
	events->merged = malloc(ALLO_EVENTS_AT_ONCE * sizeof(*events->merged));
	if (!events->merged)
		return allo_fail_memory(err);
	for (size_t i = 0; i < recording->streams.len; i++) {
		if (recording->streams.at[i].kind == ALLO_STREAM_EVENTS &&
		    recording->streams.at[i].piece_count > 0 &&
		    !add_cursor(events, &recording->streams.at[i], i, err))
			return false;
	}
	order_heap(events);
	return true;
}

void allo_events_close(struct allo_events *events)
{
	allo_event_ahead_stop(events->ahead);
	for (size_t i = 0; i < events->heap.len; i++)
		free_cursor(events->heap.at[i]);
	allo_vec_done(&events->heap);
	for (size_t i = 0; i < events->parked.len; i++)
		free_cursor(events->parked.at[i]);
	allo_vec_done(&events->parked);
	free(events->merged);
	allo_packed_events_free(events->packed);
	*events = (struct allo_events){ 0 };
}

/* Puts the first stream where it belongs after it has moved on, or away when it is over. */
static bool settle_first(struct allo_events *events, struct allo_error *err)
{
	struct allo_event_cursor *cursor = events->heap.at[0];

	if (cursor->is_over) {
		if (events->follows && !allo_vec_append(&events->parked, &cursor, 1))
			return allo_fail_memory(err);
		events->heap.at[0] = events->heap.at[--events->heap.len];
		if (!events->follows)
			free_cursor(cursor);
	}
	if (events->heap.len > 0)
		sift_down(events, 0);
	return true;
}

/* How many of the first stream's events come before any of another one, before the room is used up,
 * and before those that are left for later. */
static size_t count_run(const struct allo_events *events, size_t room)
{
	struct allo_event_cursor *const *heap = events->heap.at;
	const struct allo_event_cursor *cursor = heap[0], *other;
	size_t count = 1, left = cursor->count - cursor->first;
	const struct allo_event *event = &cursor->batch[cursor->first];
	uint64_t until;

	if (left > room)
		left = room;
	if (events->heap.len == 1 && !events->follows)
		return left;
	until = events->follows ? events->until_ns : UINT64_MAX;
	if (events->heap.len == 1) {
		while (count < left && event[count].ns < until)
			count++;
		return count;
	}
	other = heap[1];
	if (events->heap.len > 2 && comes_before(heap[2], other))
		other = heap[2];
	/* Of the same moment, the stream with the smaller number comes first. */
	if (other->next < until)
		until = other->next + (cursor->stream < other->stream);
	while (count < left && event[count].ns < until)
		count++;
	return count;
}

/* Goes on in the first stream, behind events that are used up. */
static bool advance_first(struct allo_events *events, size_t count, struct allo_error *err)
{
	struct allo_event_cursor *cursor = events->heap.at[0];

	cursor->first += count;
	if (cursor->first < cursor->count)
		cursor->next = cursor->batch[cursor->first].ns;
	else if (!fill(events, cursor, err))
		return false;
	return settle_first(events, err);
}

/* The only stream there is: its next batch. */
static bool next_batch(struct allo_events *events, struct allo_event_span *span,
		       struct allo_error *err)
{
	struct allo_event_cursor *cursor = events->heap.at[0];

	if (cursor->first == cursor->count && !fill(events, cursor, err))
		return false;
	if (cursor->is_over) {
		settle_first(events, err);
		return false;
	}
	*span = (struct allo_event_span){ &cursor->batch[cursor->first],
					  cursor->count - cursor->first };
	cursor->first = cursor->count;
	return true;
}

static bool next_of_raw(struct allo_events *events, struct allo_event_span *span,
			struct allo_error *err)
{
	size_t count = 0;

	if (events->heap.len == 1 && !events->follows)
		return next_batch(events, span, err);
	while (events->heap.len > 0 && count < ALLO_EVENTS_AT_ONCE) {
		struct allo_event_cursor *cursor = events->heap.at[0];
		size_t run = 0;

		if (events->follows && cursor->next >= events->until_ns)
			break;

		/* Memory for a stream is taken when its time has come. */
		if (cursor->count > 0) {
			run = count_run(events, ALLO_EVENTS_AT_ONCE - count);
			memcpy(&events->merged[count], &cursor->batch[cursor->first],
			       run * sizeof(*cursor->batch));
			count += run;
		}
		if (!advance_first(events, run, err))
			return false;
	}
	*span = (struct allo_event_span){ events->merged, count };
	return count > 0;
}

/* Following. */

static int compare_numbers(const void *a, const void *b)
{
	const struct allo_event_cursor *const *x = a, *const *y = b;

	return (*x)->number < (*y)->number ? -1 : (*x)->number > (*y)->number;
}

/* The block at hand may have become longer, or lie somewhere else by now. */
static bool extend_block(struct allo_events *events, struct allo_event_cursor *cursor,
			 const struct allo_piece *piece, struct allo_error *err)
{
	size_t consumed = (size_t)(cursor->at - cursor->start);
	struct allo_wire_slot slot;

	if (!allo_recording_load(events->recording, piece, &cursor->piece, err))
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

/* Finds what is still to come of a stream. */
static bool resume_cursor(struct allo_events *events, struct allo_event_cursor *cursor,
			  const struct allo_stream *stream, struct allo_error *err)
{
	const struct allo_piece *piece = &events->recording->pieces.at[stream->first_piece];
	const struct allo_piece *end = piece + stream->piece_count;

	while (cursor->is_open && piece < end && (uint64_t)piece->sequence + 1 < cursor->sequence)
		piece++;
	if (cursor->is_open && piece < end && (uint64_t)piece->sequence + 1 == cursor->sequence) {
		if (!extend_block(events, cursor, piece, err))
			return false;
		piece++;
	}
	cursor->pieces = piece;
	cursor->piece_count = (size_t)(end - piece);
	return true;
}

/* Takes those that have something to say again back into the heap. */
static bool unpark(struct allo_events *events, struct allo_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < events->parked.len; i++) {
		struct allo_event_cursor *cursor = events->parked.at[i];

		if (cursor->at == cursor->end && cursor->piece_count == 0) {
			events->parked.at[kept++] = cursor;
			continue;
		}
		cursor->is_over = false;
		if (!fill(events, cursor, err))
			return false;
		if (cursor->is_over)
			events->parked.at[kept++] = cursor;
		else if (!allo_vec_append(&events->heap, &cursor, 1))
			return allo_fail_memory(err);
	}
	events->parked.len = kept;
	return true;
}

bool allo_events_resume(struct allo_events *events, struct allo_error *err)
{
	const struct allo_recording *recording = events->recording;
	ALLO_VEC(struct allo_event_cursor *) all = { 0 };
	size_t next = 0, known;
	bool ok;

	if (events->packed)
		return true;
	ok = allo_vec_append(&all, events->heap.at, events->heap.len) &&
	     allo_vec_append(&all, events->parked.at, events->parked.len);
	known = all.len;
	if (!ok)
		allo_fail_memory(err);
	else if (known > 0)
		qsort(all.at, known, sizeof(*all.at), compare_numbers);
	/* Both are by number. */
	for (size_t i = 0; i < recording->streams.len && !allo_failed(err); i++) {
		const struct allo_stream *stream = &recording->streams.at[i];

		if (stream->kind != ALLO_STREAM_EVENTS || stream->piece_count == 0)
			continue;
		while (next < known && all.at[next]->number < stream->number)
			next++;
		if (next < known && all.at[next]->number == stream->number)
			resume_cursor(events, all.at[next], stream, err);
		else if (events->streams >= ALLO_STREAMS_MAX)
			fail_streams(recording, err);
		else
			add_cursor(events, stream, events->streams++, err);
	}
	allo_vec_done(&all);
	if (allo_failed(err) || !unpark(events, err))
		return false;
	order_heap(events);
	return true;
}

size_t allo_span_silent(const struct allo_event_span *span)
{
	size_t count = 0;

	for (size_t i = 0; i < span->count; i++)
		count += allo_event_is_silent(&span->events[i]);
	return count;
}

static bool read_next(struct allo_events *events, struct allo_event_span *span, size_t *silent,
		      struct allo_error *err)
{
	*silent = 0;
	if (events->packed)
		return allo_packed_events_next(events->packed, events->recording, span, silent,
					       err);
	if (!next_of_raw(events, span, err))
		return false;
	/* Addresses tell by themselves which blocks are retired. */
	if (allo_recording_has_labels(events->recording))
		*silent = allo_span_silent(span);
	return true;
}

/* Whether reading takes so long that a thread is worth its while. */
static bool is_long(const struct allo_recording *recording)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < recording->event_chunks.len; i++)
		bytes += recording->event_chunks.at[i].raw_len;
	for (size_t i = 0; i < recording->pieces.len; i++)
		bytes += recording->pieces.at[i].kind == ALLO_STREAM_EVENTS
				 ? recording->pieces.at[i].raw_len
				 : 0;
	return bytes >= LONG_BYTES;
}

void allo_events_read_ahead(struct allo_events *events)
{
	if (allo_cpu_count() > 1 && is_long(events->recording))
		events->ahead = allo_event_ahead_start(events, read_next);
}

bool allo_events_next(struct allo_events *events, struct allo_event_span *span,
		      struct allo_error *err)
{
	if (!(events->ahead ? allo_event_ahead_next(events->ahead, span, &events->silent, err)
			    : read_next(events, span, &events->silent, err)))
		return false;
	events->count += span->count - events->silent;
	return true;
}

const char *allo_event_name(enum allo_event_kind kind)
{
	static const char *const names[] = { "alloc",  "free",   "realloc", "realloc-failed",
					     "retire", "labels", "mark",    "event" };

	return names[kind];
}
