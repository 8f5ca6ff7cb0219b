/* event_stream.c - merges the streams of all threads by time. */
#include "replay/events/event_stream.h"

#include "base/assert.h"
#include "base/threads.h"
#include "replay/events/event_ahead.h"
#include "replay/events/event_cursor.h"
#include "replay/packed/packed_file.h"
#include "replay/ring/earlier.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { LONG_BYTES = 1 << 20 }; /* of events: they take about ten milliseconds */

/* Merging. */

static bool comes_before(const struct allo_event_cursor *a, const struct allo_event_cursor *b)
{
	return a->next != b->next ? a->next < b->next : a->stream < b->stream;
}

static void sift_down(struct allo_events *events, size_t at)
{
	struct allo_event_cursor **heap = events->heap.at, *moved = heap[at];
	size_t len = events->heap.len;

	ALLO_ASSERT(at < len);
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

/* `index` is the stream number of its events. */
static bool add_cursor(struct allo_events *events, const struct allo_stream *stream, size_t index,
		       struct allo_error *err)
{
	struct allo_recording *recording = events->recording;
	struct allo_event_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return allo_fail_memory(err);
	ALLO_ASSERT(stream->piece_count > 0 && index <= ALLO_STREAMS_MAX);
	cursor->recording = recording;
	cursor->scale = events->scale;
	cursor->pieces = &recording->pieces.at[stream->first_piece];
	cursor->piece_count = stream->piece_count;
	cursor->stream = index;
	cursor->number = stream->number;
	cursor->begin = allo_earlier_start(recording->earlier, stream->number);
	cursor->next = allo_ticks_to_ns(events->scale, cursor->pieces[0].first_ticks);
	if (!allo_vec_append(&events->heap, &cursor, 1)) {
		allo_event_cursor_free(cursor);
		return allo_fail_memory(err);
	}
	return true;
}

/* Adds a cursor that has decoded all of its events: up to ALLO_EVENTS_AT_ONCE marks of other
 * processes, which count for the thread of the first cursor. */
static bool add_outside_marks(struct allo_events *events, const struct allo_outside_mark *marks,
			      size_t count, struct allo_error *err)
{
	struct allo_event_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor || !allo_vec_append(&events->heap, &cursor, 1)) {
		free(cursor);
		return allo_fail_memory(err);
	}
	*cursor = (struct allo_event_cursor){ .recording = events->recording,
					      .stream = events->heap.at[0]->stream,
					      .number = UINT32_MAX,
					      .next = marks->ns,
					      .is_open = true };
	cursor->batch = calloc(count, sizeof(*cursor->batch));
	if (!cursor->batch)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		cursor->batch[i] = (struct allo_event){ .ns = marks[i].ns,
							.note = marks[i].text,
							.stream = cursor->stream & ALLO_STREAMS_MAX,
							.kind = ALLO_EVENT_MARK };
	cursor->count = count;
	return true;
}

/* Adds a cursor for the blocks that a bounded recording has kept from before its exact events. */
static bool add_kept(struct allo_events *events, struct allo_error *err)
{
	const struct allo_earlier *earlier = events->recording->earlier;
	struct allo_event_cursor *cursor;

	if (!earlier || earlier->kept.len == 0)
		return true;
	cursor = calloc(1, sizeof(*cursor));
	if (!cursor || !allo_vec_append(&events->heap, &cursor, 1)) {
		free(cursor);
		return allo_fail_memory(err);
	}
	*cursor = (struct allo_event_cursor){ .recording = events->recording,
					      .number = UINT32_MAX,
					      .next = earlier->kept.at[0].ns,
					      .is_open = true,
					      .batch = earlier->kept.at,
					      .count = earlier->kept.len,
					      .borrows_batch = true };
	return true;
}

static bool add_all_outside_marks(struct allo_events *events, struct allo_error *err)
{
	const struct allo_recording *recording = events->recording;
	size_t len = events->heap.len > 0 ? recording->outside_marks.len : 0, count;

	for (size_t i = 0; i < len; i += count) {
		count = len - i < ALLO_EVENTS_AT_ONCE ? len - i : ALLO_EVENTS_AT_ONCE;
		if (!add_outside_marks(events, &recording->outside_marks.at[i], count, err))
			return false;
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
	events->room = events->own_room = malloc(ALLO_EVENTS_AT_ONCE * sizeof(*events->room));
	if (!events->room)
		return allo_fail_memory(err);
	if (recording->is_packed) {
		events->packed = allo_packed_events_new(recording, err);
		return events->packed != NULL;
	}
	for (size_t i = 0; i < recording->streams.len; i++) {
		if (recording->streams.at[i].kind == ALLO_STREAM_EVENTS &&
		    recording->streams.at[i].piece_count > 0 &&
		    !add_cursor(events, &recording->streams.at[i], i, err))
			return false;
	}
	if (!add_all_outside_marks(events, err) || !add_kept(events, err))
		return false;
	order_heap(events);
	return true;
}

void allo_events_close(struct allo_events *events)
{
	allo_event_ahead_stop(events->ahead);
	for (size_t i = 0; i < events->heap.len; i++)
		allo_event_cursor_free(events->heap.at[i]);
	allo_vec_done(&events->heap);
	for (size_t i = 0; i < events->parked.len; i++)
		allo_event_cursor_free(events->parked.at[i]);
	allo_vec_done(&events->parked);
	free(events->own_room);
	allo_packed_events_free(events->packed);
	*events = (struct allo_events){ 0 };
}

/* Restores the heap after the first stream has advanced; removes the stream at its end. */
static bool settle_first(struct allo_events *events, struct allo_error *err)
{
	struct allo_event_cursor *cursor = events->heap.at[0];

	if (cursor->is_over) {
		if (events->follows && !allo_vec_append(&events->parked, &cursor, 1))
			return allo_fail_memory(err);
		events->heap.at[0] = events->heap.at[--events->heap.len];
		if (!events->follows)
			allo_event_cursor_free(cursor);
	}
	if (events->heap.len > 0)
		sift_down(events, 0);
	return true;
}

/* The number of events of the first stream that come before those of all other streams, fit the
 * room and are before until_ns. */
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
	/* At equal times, the stream with the smaller number comes first. */
	if (other->next < until)
		until = other->next + (cursor->stream < other->stream);
	while (count < left && event[count].ns < until)
		count++;
	return count;
}

/* Consumes events of the first stream. */
static bool advance_first(struct allo_events *events, size_t count, struct allo_error *err)
{
	struct allo_event_cursor *cursor = events->heap.at[0];

	cursor->first += count;
	ALLO_ASSERT(cursor->first <= cursor->count);
	if (cursor->first < cursor->count)
		cursor->next = cursor->batch[cursor->first].ns;
	else if (!allo_event_cursor_fill(cursor, err))
		return false;
	return settle_first(events, err);
}

/* The next batch of the only stream. */
static bool next_batch(struct allo_events *events, struct allo_event_span *span,
		       struct allo_error *err)
{
	struct allo_event_cursor *cursor = events->heap.at[0];
	size_t count;

	if (cursor->first == cursor->count && !allo_event_cursor_fill(cursor, err))
		return false;
	if (cursor->is_over) {
		settle_first(events, err);
		return false;
	}
	count = cursor->count - cursor->first;
	if (count > ALLO_EVENTS_AT_ONCE) /* kept blocks */
		count = ALLO_EVENTS_AT_ONCE;
	*span = (struct allo_event_span){ &cursor->batch[cursor->first], count };
	cursor->first += count;
	return true;
}

/* The index of the second stream in time order; there are at least two. */
static size_t find_second(const struct allo_events *events)
{
	struct allo_event_cursor *const *heap = events->heap.at;

	return events->heap.len > 2 && comes_before(heap[2], heap[1]) ? 2 : 1;
}

/* The time at which a third stream continues, or until_ns if that is earlier. */
static uint64_t third_ns(const struct allo_events *events, size_t second)
{
	const size_t others[] = { 3 - second, 2 * second + 1, 2 * second + 2 };
	uint64_t ns = events->follows ? events->until_ns : UINT64_MAX;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (others[i] < events->heap.len && events->heap.at[others[i]]->next < ns)
			ns = events->heap.at[others[i]]->next;
	}
	return ns;
}

static void continue_at(struct allo_event_cursor *cursor, const struct allo_event *event)
{
	ALLO_ASSERT(event >= cursor->batch && event < cursor->batch + cursor->count);
	cursor->first = (size_t)(event - cursor->batch);
	cursor->next = event->ns;
}

/* Merges the first two streams, as long as no third stream comes between and both have another
 * decoded event.  Returns the number of events.  The order of the two is unpredictable, so the loop
 * has no branch on it. */
static size_t merge_two(struct allo_events *events, struct allo_event *out, size_t room)
{
	size_t second = find_second(events), count = 0;
	struct allo_event_cursor *one = events->heap.at[0], *other = events->heap.at[second];
	const struct allo_event *a, *a_last, *b, *b_last;
	uint64_t until = third_ns(events, second);
	uint64_t b_wins = other->stream < one->stream; /* at equal times */

	if (one->count == 0 || other->count == 0)
		return 0; /* not decoded yet */
	a = &one->batch[one->first];
	a_last = &one->batch[one->count - 1];
	b = &other->batch[other->first];
	b_last = &other->batch[other->count - 1];
	while (count < room && a < a_last && b < b_last) {
		bool is_b = b->ns < a->ns + b_wins;
		const struct allo_event *next = is_b ? b : a;

		if (next->ns >= until)
			break;
		out[count++] = *next;
		a += !is_b;
		b += is_b;
	}
	if (count > 0) {
		continue_at(one, a);
		continue_at(other, b);
		sift_down(events, second);
		sift_down(events, 0);
	}
	return count;
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

		ALLO_ASSERT(events->heap.len < 2 || !comes_before(events->heap.at[1], cursor));
		if (events->follows && cursor->next >= events->until_ns)
			break;

		if (events->heap.len > 1) {
			size_t merged = merge_two(events, &events->room[count],
						  ALLO_EVENTS_AT_ONCE - count);

			count += merged;
			if (merged > 0)
				continue;
		}
		/* A stream allocates its buffers when its first event is due. */
		if (cursor->count > 0) {
			run = count_run(events, ALLO_EVENTS_AT_ONCE - count);
			memcpy(&events->room[count], &cursor->batch[cursor->first],
			       run * sizeof(*cursor->batch));
			count += run;
			ALLO_ASSERT(run > 0 && count <= ALLO_EVENTS_AT_ONCE);
		}
		if (!advance_first(events, run, err))
			return false;
	}
	*span = (struct allo_event_span){ events->room, count };
	return count > 0;
}

/* Following. */

static int compare_numbers(const void *a, const void *b)
{
	const struct allo_event_cursor *const *x = a, *const *y = b;

	return (*x)->number < (*y)->number ? -1 : (*x)->number > (*y)->number;
}

/* Moves streams with new events back into the heap. */
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
		if (!allo_event_cursor_fill(cursor, err))
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
	/* Both lists are sorted by number. */
	for (size_t i = 0; i < recording->streams.len && !allo_failed(err); i++) {
		const struct allo_stream *stream = &recording->streams.at[i];

		if (stream->kind != ALLO_STREAM_EVENTS || stream->piece_count == 0)
			continue;
		while (next < known && all.at[next]->number < stream->number)
			next++;
		if (next < known && all.at[next]->number == stream->number)
			allo_event_cursor_resume(all.at[next], stream, err);
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

bool allo_events_are_in_place(const struct allo_events *events)
{
	const struct allo_recording *recording = events->recording;

	for (size_t i = 0; i < events->heap.len + events->parked.len; i++) {
		const struct allo_event_cursor *cursor =
			i < events->heap.len ? events->heap.at[i]
					     : events->parked.at[i - events->heap.len];

		if (cursor->number != UINT32_MAX &&
		    (cursor->stream >= recording->streams.len ||
		     recording->streams.at[cursor->stream].number != cursor->number))
			return false;
	}
	return true;
}

void allo_event_settle(struct allo_event *event, const struct allo_recording *recording)
{
	event->note = event->kind == ALLO_EVENT_LABELS
			      ? allo_recording_same_set(recording, event->note)
			      : allo_recording_same_text(recording, event->note);
	if (event->stack >= recording->nodes.len)
		event->stack = 0;
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
		return allo_packed_events_next(events->packed, events->recording, events->room,
					       span, silent, err);
	if (!next_of_raw(events, span, err))
		return false;
	/* A raw recording has no RETIRE events, so that only labels are silent. */
	if (allo_recording_has_labels(events->recording))
		*silent = allo_span_silent(span);
	return true;
}

/* Whether reading takes long enough to be worth a thread. */
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

static _Atomic uint64_t events_read;

uint64_t allo_events_seen(void)
{
	return atomic_load_explicit(&events_read, memory_order_relaxed);
}

bool allo_events_next(struct allo_events *events, struct allo_event_span *span,
		      struct allo_error *err)
{
	if (!(events->ahead ? allo_event_ahead_next(events->ahead, span, &events->silent, err)
			    : read_next(events, span, &events->silent, err)))
		return false;
	ALLO_ASSERT(span->count <= ALLO_EVENTS_AT_ONCE && events->silent <= span->count);
	events->count += span->count - events->silent;
	atomic_fetch_add_explicit(&events_read, span->count, memory_order_relaxed);
	return true;
}

const char *allo_event_name(enum allo_event_kind kind)
{
	static const char *const names[] = { "alloc",  "free",   "realloc", "realloc-failed",
					     "retire", "labels", "mark",    "event" };

	return names[kind];
}
