/*
 * event_stream.h - the events of a recording, of all threads, in the order of their time.
 *
 *     allo_events_open(&events, &recording, err);
 *     while (allo_events_next(&events, &span, err))
 *             ... span.events[0] to [span.count - 1] ...
 *
 * Each thread's stream is decoded in batches, which are merged; a single thread's batch comes out
 * as it is.  A packed recording has its events in order.
 */
#ifndef ALLO_REPLAY_EVENT_STREAM_H
#define ALLO_REPLAY_EVENT_STREAM_H

#include "replay/recording.h"

/* Modelled recordings have these numbers. */
enum allo_event_kind {
	ALLO_EVENT_ALLOC,
	ALLO_EVENT_FREE,
	ALLO_EVENT_RESIZE,        /* realloc: `old` has become `pointer` */
	ALLO_EVENT_RESIZE_FAILED, /* realloc has left `pointer` as it was */
	/* Nothing that the program did: the address of `pointer` is allocated again before it is
	 * freed, because clocks differ.  A packed recording says so, since it has no addresses. */
	ALLO_EVENT_RETIRE,
	/* Nor is this: what the thread does from here on has the labels `note`, a set's number. */
	ALLO_EVENT_LABELS,
	ALLO_EVENT_MARK, /* the program calls this moment by the text `note` */
	/* Something of the program's own has happened, `size` units of it, and it calls that by the
	 * text `note`; 0: it has no name. */
	ALLO_EVENT_OWN,
};

struct allo_event {
	uint64_t ns; /* since the start; of a thread that was alone, that of some event before */
	uint64_t pointer; /* an address, or a name; 0: not known */
	union {
		uint64_t old;  /* the same */
		uint64_t note; /* the number of a text or of a set of labels */
	};
	uint64_t size;
	uint32_t stack;       /* a node's number, which need not be there; 0: not known */
	uint32_t stream : 24; /* index in the recording's streams */
	enum allo_event_kind kind : 4;
	uint32_t lasted : 4; /* see allo_event_earliest() */
};

/* How much later events may come than others that they came before: clocks differ by much less, and
 * where some have been lost it is the only way to tell blocks apart that had one address. */
static const uint64_t allo_late_ns = 10000000;

/* The earliest moment at which a block may have been given back that an event ends.  What realloc
 * gives back others may get long before it returns, which is its time: twice as long as it has
 * lasted, and no less than the others, is allo_late_ns << lasted. */
static inline uint64_t allo_event_earliest(const struct allo_event *event)
{
	uint64_t late_ns = allo_late_ns << event->lasted;

	return event->ns > late_ns ? event->ns - late_ns : 0;
}

/* Whether it is nothing that the program did, but what we have to know about it. */
static inline bool allo_event_is_silent(const struct allo_event *event)
{
	return event->kind == ALLO_EVENT_RETIRE || event->kind == ALLO_EVENT_LABELS;
}

/* A packed recording has names in place of addresses: which of a stack's blocks it is, from 1. */
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

enum { ALLO_STREAMS_MAX = (1 << 24) - 1 }; /* as an event has room for */

enum { ALLO_EVENTS_AT_ONCE = 256 }; /* 10 KiB: they stay in the first-level cache until used */

struct allo_event_ahead;
struct allo_event_cursor;
struct allo_packed_events;

/* All zeros: nothing to close. */
struct allo_events {
	struct allo_recording *recording; /* its `gaps` tells what was found out on the way */
	uint64_t count;                   /* handed out so far that the program has made */
	size_t silent;                    /* the others, of those handed out last */
	/* To be set after opening, for a raw recording that is still being written: the end is
	 * where the events are that there are by now, and allo_events_resume() goes on from there.
	 * Events from `until_ns` on are left for later. */
	bool follows;
	uint64_t until_ns;
	size_t streams; /* that events may be of: all numbers that they have are smaller */

	/* Private from here on. */
	struct allo_event_ahead *ahead;    /* who reads them; NULL: whoever asks for them */
	struct allo_packed_events *packed; /* or NULL, and: */
	struct allo_tick_scale scale;
	ALLO_VEC(struct allo_event_cursor *) heap; /* of streams, that with the next event first */
	ALLO_VEC(struct allo_event_cursor *) parked; /* of those that have come to their end */
	/* For ALLO_EVENTS_AT_ONCE that are merged or unpacked: our own, or that of who has a better
	 * place for them. */
	struct allo_event *own_room, *room;
};

/* The recording stays open as long. */
bool allo_events_open(struct allo_events *events, struct allo_recording *recording,
		      struct allo_error *err);

/* To be called before the first ones are asked for, by those who mean to read all of them: if they
 * are many, another core reads them ahead of the one that replays. */
void allo_events_read_ahead(struct allo_events *events);

/* The next events, which stay until the next call.  False at the end and at failure. */
bool allo_events_next(struct allo_events *events, struct allo_event_span *span,
		      struct allo_error *err);

/* After allo_recording_refresh(): goes on with what was written since.  Streams keep the numbers
 * that their events have; new ones get the next, whatever their place in the recording is. */
bool allo_events_resume(struct allo_events *events, struct allo_error *err);

void allo_events_close(struct allo_events *events);

/* How many events of a span are silent. */
size_t allo_span_silent(const struct allo_event_span *span);

/* Makes the numbers of an event of the program's own, a mark or labels those that all equal ones
 * have, and 0 where the recording does not have them. */
void allo_event_settle(struct allo_event *event, const struct allo_recording *recording);

/* "alloc", "free", "realloc", "realloc-failed", "mark", "event" */
const char *allo_event_name(enum allo_event_kind kind);

#endif
