/*
 * event_stream.h - the events of all threads of a recording in time order.
 *
 *     allo_events_open(&events, &recording, err);
 *     while (allo_events_next(&events, &span, err))
 *             ... span.events[0] to [span.count - 1] ...
 *
 * The stream of each thread is decoded in batches, which are merged; a batch of a single thread is
 * returned without a copy.  A packed recording stores its events in time order.
 */
#ifndef ALLO_REPLAY_EVENT_STREAM_H
#define ALLO_REPLAY_EVENT_STREAM_H

#include "replay/recording/recording.h"

/* Packed recordings with a model store these numbers. */
enum allo_event_kind {
	ALLO_EVENT_ALLOC,
	ALLO_EVENT_FREE,
	ALLO_EVENT_RESIZE,        /* realloc: `old` became `pointer` */
	ALLO_EVENT_RESIZE_FAILED, /* realloc left `pointer` unchanged */
	/* Not an action of the program: the address of `pointer` is allocated again before it is
	 * freed, because clocks differ.  Only packed recordings have it, since they have no
	 * addresses. */
	ALLO_EVENT_RETIRE,
	/* Not an action either: from here on the thread has the label set `note`. */
	ALLO_EVENT_LABELS,
	ALLO_EVENT_MARK, /* a mark with the name `note`, a text */
	/* An event of the program: `size` units, with the name `note`, or 0 for no name. */
	ALLO_EVENT_OWN,
};

struct allo_event {
	uint64_t ns;      /* since the start; a thread that runs alone reads the clock rarely */
	uint64_t pointer; /* an address, or a name (see allo_block_key); 0 if not known */
	union {
		uint64_t old;  /* the same */
		uint64_t note; /* number of a text or of a label set */
	};
	uint64_t size;
	uint32_t stack;       /* number of a node, which may be missing; 0 if not known */
	uint32_t stream : 24; /* index in allo_recording.streams */
	enum allo_event_kind kind : 4;
	uint32_t lasted : 4; /* see allo_event_earliest() */
};

/* The most that events of two threads may be out of order, in nanoseconds.  Clocks differ by much
 * less.  Where events are lost, this tells apart blocks that had the same address. */
static const uint64_t allo_late_ns = 10000000;

/* The earliest time at which the block that an event ends may have been reused.  realloc frees the
 * old block long before it returns, and its event has the time of the return.  allo_late_ns <<
 * lasted is at least twice the duration of the realloc. */
static inline uint64_t allo_event_earliest(const struct allo_event *event)
{
	uint64_t late_ns = allo_late_ns << event->lasted;

	return event->ns > late_ns ? event->ns - late_ns : 0;
}

/* Whether an event is not an action of the program, and does not count. */
static inline bool allo_event_is_silent(const struct allo_event *event)
{
	return event->kind == ALLO_EVENT_RETIRE || event->kind == ALLO_EVENT_LABELS;
}

/* A packed recording has names in place of addresses: the stack of a block and its number among the
 * blocks of that stack, from 1. */
static inline uint64_t allo_block_key(uint32_t stack, uint32_t number)
{
	return (uint64_t)stack << 32 | number;
}

static inline uint32_t allo_block_stack(uint64_t key)
{
	return (uint32_t)(key >> 32);
}

static inline uint32_t allo_block_number(uint64_t key)
{
	return (uint32_t)key;
}

struct allo_event_span {
	const struct allo_event *events;
	size_t count; /* at most ALLO_EVENTS_AT_ONCE */
};

enum { ALLO_STREAMS_MAX = (1 << 24) - 1 }; /* fits allo_event.stream */

enum { ALLO_EVENTS_AT_ONCE = 256 }; /* 10 KiB, which fit the first-level cache */

struct allo_event_ahead;
struct allo_event_cursor;
struct allo_packed_events;

/* All zeros is closed. */
struct allo_events {
	struct allo_recording *recording; /* reading counts damage in its `gaps` */
	uint64_t count;                   /* events returned so far, without silent ones */
	size_t silent;                    /* silent events in the last span */
	/* Set them after opening a raw recording that is still written: reading ends after the
	 * events that exist and are before `until_ns`, and allo_events_resume() continues. */
	bool follows;
	uint64_t until_ns;
	size_t streams; /* all stream numbers of events are smaller */

	/* Private from here on. */
	struct allo_event_ahead *ahead;    /* the reading thread; NULL if there is none */
	struct allo_packed_events *packed; /* of a packed recording; NULL for a raw one, with: */
	struct allo_tick_scale scale;
	ALLO_VEC(struct allo_event_cursor *) heap;   /* a binary heap by time of the next event */
	ALLO_VEC(struct allo_event_cursor *) parked; /* streams at their end, if `follows` */
	/* Buffers for ALLO_EVENTS_AT_ONCE events.  `room` is own_room, or a buffer of the reading
	 * thread. */
	struct allo_event *own_room, *room;
};

/* The recording must stay open as long. */
bool allo_events_open(struct allo_events *events, struct allo_recording *recording,
		      struct allo_error *err);

/* Starts a thread that reads ahead, if there are many events and several processors.  Call it
 * before the first allo_events_next(), if all events will be read. */
void allo_events_read_ahead(struct allo_events *events);

/* The next events, valid until the next call.  False at the end and on failure. */
bool allo_events_next(struct allo_events *events, struct allo_event_span *span,
		      struct allo_error *err);

/* The number of events that this process has read so far, of all recordings. */
uint64_t allo_events_seen(void);

/* Continues after allo_recording_refresh().  Known streams keep their number in events; new streams
 * get the next numbers, independent of their index in the recording. */
bool allo_events_resume(struct allo_events *events, struct allo_error *err);

/* Whether the stream number of each event is still an index in the recording: a thread may write
 * its first page after threads that started later. */
bool allo_events_are_in_place(const struct allo_events *events);

void allo_events_close(struct allo_events *events);

/* The number of silent events of a span. */
size_t allo_span_silent(const struct allo_event_span *span);

/* Replaces the text or label set of an event by the first of its equals, and by 0 if the recording
 * does not have it.  The same for a missing stack. */
void allo_event_settle(struct allo_event *event, const struct allo_recording *recording);

/* "alloc", "free", "realloc", "realloc-failed", "mark", "event" */
const char *allo_event_name(enum allo_event_kind kind);

#endif
