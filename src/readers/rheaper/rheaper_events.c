/* rheaper_events.c - a k-way merge of the files of events. */
#include "readers/rheaper/rheaper_events.h"

#include "base/assert.h"

#include <stdlib.h>

enum {
	SIZE = ALLO_RHEAPER_EVENT_SIZE,
	/* Buffer sizes: the sum, and limits for each. */
	ALL_BUFFERS = 8 << 20,
	LARGE_BUFFER = 1024 * SIZE,
	SMALL_BUFFER = 20 * SIZE,
};

enum tag { TAG_ALLOC = 0, TAG_FREE = 1 };

/* Offsets of the little-endian words of an event; byte 0 is the tag. */
enum { AT_TIME = 1, AT_NUMBER = 9, AT_ADDRESS = 17, AT_BACKTRACE = 33, AT_SIZE = 41 };

/* 292 years: later times are clamped. */
static const uint64_t latest_ns = INT64_MAX - 1;

/* A file that is being read. */
struct allo_rheaper_cursor {
	uint64_t number; /* of its next event */
	const unsigned char *next, *end;
	unsigned char *buffer;
	uint64_t read, size; /* bytes read so far, and bytes of whole events in the file */
	size_t file;
};

static inline uint64_t word(const unsigned char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static void note(struct allo_rheaper_events *events, enum allo_note kind, uint64_t count,
		 size_t file, uint64_t place)
{
	if (count > 0)
		allo_note_many(events->notes, kind, count,
			       allo_rheaper_pos(events->files,
						&events->files->events.files.at[file], 0,
						place + 1));
}

/* Cursors. */

static uint64_t place_of(const struct allo_rheaper_cursor *cursor, const unsigned char *event)
{
	return cursor->read - (uint64_t)(cursor->end - event);
}

static bool fill(struct allo_rheaper_events *events, struct allo_rheaper_cursor *cursor,
		 struct allo_error *err)
{
	uint64_t left = cursor->size - cursor->read;
	size_t count = left < events->buffer_size ? (size_t)left : events->buffer_size;

	if (!allo_rheaper_read(events->files, &events->files->events.files.at[cursor->file],
			       cursor->read, cursor->buffer, count, err))
		return false;
	ALLO_ASSERT(count > 0 && count % SIZE == 0);
	cursor->read += count;
	cursor->next = cursor->buffer;
	cursor->end = cursor->buffer + count;
	return true;
}

/* Loads the next event, if it is not in the buffer, and reads its number.  False at the end of the
 * file and at failure. */
static inline bool look(struct allo_rheaper_events *events, struct allo_rheaper_cursor *cursor,
			struct allo_error *err)
{
	if (cursor->next == cursor->end &&
	    (cursor->read == cursor->size || !fill(events, cursor, err)))
		return false;
	ALLO_ASSERT((size_t)(cursor->end - cursor->next) >= SIZE);
	cursor->number = word(cursor->next + AT_NUMBER);
	return true;
}

/* Events with equal numbers come in the order of their files. */
static inline bool comes_before(const struct allo_rheaper_cursor *a,
				const struct allo_rheaper_cursor *b)
{
	return a->number != b->number ? a->number < b->number : a->file < b->file;
}

/* Restores the heap order below `at`. */
static void sink(struct allo_rheaper_events *events, size_t at)
{
	struct allo_rheaper_cursor **heap = events->heap.at, *cursor = heap[at];
	size_t below;

	while ((below = at * 2 + 1) < events->heap.len) {
		if (below + 1 < events->heap.len && comes_before(heap[below + 1], heap[below]))
			below++;
		if (!comes_before(heap[below], cursor))
			break;
		heap[at] = heap[below];
		at = below;
	}
	heap[at] = cursor;
}

/* The cursor whose next event ends a run of the first cursor's events; NULL: there is no other. */
static const struct allo_rheaper_cursor *second(const struct allo_rheaper_events *events)
{
	struct allo_rheaper_cursor **heap = events->heap.at;

	if (events->heap.len < 2)
		return NULL;
	return events->heap.len > 2 && comes_before(heap[2], heap[1]) ? heap[2] : heap[1];
}

/* Opening. */

static bool add_cursor(struct allo_rheaper_events *events, size_t file, struct allo_error *err)
{
	const struct allo_rheaper_file *of = &events->files->events.files.at[file];
	struct allo_rheaper_cursor *cursor = &events->cursors[file];

	cursor->file = file;
	cursor->buffer = events->buffers + file * events->buffer_size;
	cursor->size = of->size - of->size % SIZE;
	if (of->is_cut || cursor->size < of->size)
		note(events, ALLO_NOTE_CUT, 1, file, cursor->size);
	if (look(events, cursor, err))
		events->heap.at[events->heap.len++] = cursor; /* reserved above for all files */
	return !allo_failed(err);
}

static size_t buffer_size_for(size_t files)
{
	size_t size = ALL_BUFFERS / (files + 1) / SIZE * SIZE;

	if (size < SMALL_BUFFER)
		return SMALL_BUFFER;
	return size > LARGE_BUFFER ? LARGE_BUFFER : size;
}

/* Heaps size their tables by a recording: this one has no events, only the counts. */
static bool make_shape(struct allo_rheaper_events *events, struct allo_error *err)
{
	struct allo_recording *shape = &events->shape;

	if (!allo_vec_cover(&shape->nodes, events->stacks->sites.len))
		return allo_fail_memory(err);
	for (size_t i = 0; i < shape->nodes.len; i++)
		shape->nodes.at[i].flags = ALLO_NODE_KNOWN;
	shape->streams.len = events->files->events.files.len;
	return true;
}

bool allo_rheaper_events_open(struct allo_rheaper_events *events, struct allo_rheaper_files *files,
			      const struct allo_rheaper_stacks *stacks, struct allo_notes *notes,
			      struct allo_error *err)
{
	size_t count = files->events.files.len;

	memset(events, 0, offsetof(struct allo_rheaper_events, events));
	events->files = files;
	events->stacks = stacks;
	events->notes = notes;
	if (count > ALLO_STREAMS_MAX)
		return allo_fail(err, ALLO_LIMIT, (struct allo_pos){ .file = files->name },
				 "has more than %d files of events", ALLO_STREAMS_MAX);
	allo_rheaper_start_over(files);
	events->buffer_size = buffer_size_for(count);
	events->cursors = calloc(count + 1, sizeof(*events->cursors));
	events->buffers = calloc(count + 1, events->buffer_size);
	if (!events->cursors || !events->buffers || !allo_vec_reserve(&events->heap, count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		if (!add_cursor(events, i, err))
			return false;
	}
	for (size_t i = events->heap.len / 2; i-- > 0;)
		sink(events, i);
	return make_shape(events, err);
}

void allo_rheaper_events_close(struct allo_rheaper_events *events)
{
	allo_vec_done(&events->shape.nodes);
	free(events->cursors);
	free(events->buffers);
	events->cursors = NULL;
	events->buffers = NULL;
	allo_vec_done(&events->heap);
}

/* Events. */

struct allo_pos allo_rheaper_event_pos(const struct allo_rheaper_events *events, size_t event)
{
	size_t file = events->events[event].stream;

	ALLO_ASSERT(event < events->count && file < events->files->events.files.len);
	return allo_rheaper_pos(events->files, &events->files->events.files.at[file], 0,
				events->places[event] + 1);
}

/* Numbers are consecutive, unless events were lost or files were mixed up. */
static inline void check_number(struct allo_rheaper_events *events,
				const struct allo_rheaper_cursor *cursor)
{
	uint64_t wanted = events->last_number + 1;

	if (__builtin_expect(events->has_last && cursor->number != wanted, 0)) {
		if (cursor->number > events->last_number)
			note(events, ALLO_NOTE_LOST_EVENTS, cursor->number - wanted, cursor->file,
			     place_of(cursor, cursor->next));
		else
			note(events, ALLO_NOTE_MIXED_EVENTS, 1, cursor->file,
			     place_of(cursor, cursor->next));
	}
	events->has_last = true;
	events->last_number = cursor->number;
}

/* The site of an allocation's backtrace; 0, and a note, where the recording lacks it. */
static inline uint32_t site_of(struct allo_rheaper_events *events,
			       const struct allo_rheaper_cursor *cursor, const unsigned char *event)
{
	const struct allo_rheaper_backtrace *backtrace = allo_rheaper_stacks_find(
		events->stacks, word(event + AT_BACKTRACE));

	if (backtrace)
		return backtrace->site;
	note(events, ALLO_NOTE_MISSING_STACKS, 1, cursor->file, place_of(cursor, event));
	return 0;
}

/* Decodes the cursor's next event; false, and a note, if it is invalid. */
static inline bool take_event(struct allo_rheaper_events *events,
			      const struct allo_rheaper_cursor *cursor, size_t at)
{
	const unsigned char *bytes = cursor->next;
	struct allo_event *event = &events->events[at];
	uint64_t ns = word(bytes + AT_TIME), address = word(bytes + AT_ADDRESS);

	check_number(events, cursor);
	if (bytes[0] > TAG_FREE || address == 0) {
		note(events, ALLO_NOTE_ODD_EVENT, 1, cursor->file, place_of(cursor, bytes));
		return false;
	}
	/* rheaper takes the number before the time, and another thread may come in between: times
	 * never go back. */
	if (ns > events->last_ns)
		events->last_ns = ns < latest_ns ? ns : latest_ns;
	*event = (struct allo_event){ .ns = events->last_ns,
				      .pointer = address,
				      .stream = (uint32_t)cursor->file & ALLO_STREAMS_MAX };
	event->kind = bytes[0] == TAG_FREE ? ALLO_EVENT_FREE : ALLO_EVENT_ALLOC;
	events->places[at] = place_of(cursor, bytes);
	if (bytes[0] == TAG_ALLOC) {
		event->size = word(bytes + AT_SIZE);
		event->stack = site_of(events, cursor, bytes);
	}
	return true;
}

/* Takes events of the first file until another file has the next one, or the span is full. */
static size_t take_run(struct allo_rheaper_events *events, size_t count, struct allo_error *err)
{
	struct allo_rheaper_cursor *cursor = events->heap.at[0];
	const struct allo_rheaper_cursor *other = second(events);

	ALLO_ASSERT(!other || !comes_before(other, cursor));
	while (count < ALLO_EVENTS_AT_ONCE) {
		count += take_event(events, cursor, count);
		cursor->next += SIZE;
		if (!look(events, cursor, err)) {
			events->heap.at[0] = events->heap.at[--events->heap.len];
			break;
		}
		if (other && comes_before(other, cursor))
			break;
	}
	if (events->heap.len > 1)
		sink(events, 0);
	return count;
}

bool allo_rheaper_events_next(struct allo_rheaper_events *events, struct allo_event_span *span,
			      struct allo_error *err)
{
	size_t count = 0;

	while (count < ALLO_EVENTS_AT_ONCE && events->heap.len > 0 && !allo_failed(err))
		count = take_run(events, count, err);
	events->count = count;
	*span = (struct allo_event_span){ events->events, count };
	return count > 0 && !allo_failed(err);
}
