/*
 * rheaper_events.h - the events of a rheaper recording, merged from all its files.
 *
 *     allo_rheaper_events_open(&events, &files, &stacks, notes, err);
 *     while (allo_rheaper_events_next(&events, &span, err))
 *             ... span.events[0] to [span.count - 1] ...
 *
 * Events come in the order of their numbers, as heap.h and live_blocks.h take them: each
 * file is a thread, and a stack is a site of rheaper_stacks.h.  The events of a file are in order
 * nearly always, so the files are merged while they are read.  Memory grows with the number of
 * files: at least a kilobyte each.
 */
#ifndef ALLO_READERS_RHEAPER_EVENTS_H
#define ALLO_READERS_RHEAPER_EVENTS_H

#include "profile/notes.h"
#include "readers/rheaper/rheaper_stacks.h"
#include "replay/events/event_stream.h"

enum { ALLO_RHEAPER_EVENT_SIZE = 49 };

struct allo_rheaper_cursor;

/* Large: allocate it.  All zeros: nothing to close. */
struct allo_rheaper_events {
	struct allo_recording shape; /* an empty recording with as many stacks and threads */
	uint64_t last_ns;            /* time of the last event so far */

	/* Private from here on. */
	struct allo_rheaper_files *files;
	const struct allo_rheaper_stacks *stacks;
	struct allo_notes *notes;
	struct allo_rheaper_cursor *cursors;
	unsigned char *buffers; /* one for each cursor */
	size_t buffer_size;
	ALLO_VEC(struct allo_rheaper_cursor *) heap; /* a min-heap by the next event's number */
	bool has_last;
	uint64_t last_number;
	size_t count; /* of the span that was handed out last */
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
	uint64_t places[ALLO_EVENTS_AT_ONCE]; /* offset of each event in its file */
};

/* Notes oddities of the events while they are read.  Files, stacks and notes must outlive it. */
bool allo_rheaper_events_open(struct allo_rheaper_events *events, struct allo_rheaper_files *files,
			      const struct allo_rheaper_stacks *stacks, struct allo_notes *notes,
			      struct allo_error *err);

/* The next events, valid until the next call.  False at the end and at failure. */
bool allo_rheaper_events_next(struct allo_rheaper_events *events, struct allo_event_span *span,
			      struct allo_error *err);

/* The position of an event of the last span. */
struct allo_pos allo_rheaper_event_pos(const struct allo_rheaper_events *events, size_t event);

void allo_rheaper_events_close(struct allo_rheaper_events *events);

#endif
