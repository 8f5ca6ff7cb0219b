/*
 * rheaper_events.h - the events of a recording of rheaper's, of all files, by their numbers.
 *
 *     allo_rheaper_events_open(&events, &files, notes, err);
 *     while (allo_rheaper_events_next(&events, &span, err))
 *             ... span.events[0] to [span.count - 1] ...
 *
 * Each file has its events in order, nearly always, so they are merged as they are read.  Memory
 * grows with the number of files, and by a kilobyte each where there are many.
 */
#ifndef ALLO_READERS_RHEAPER_EVENTS_H
#define ALLO_READERS_RHEAPER_EVENTS_H

#include "profile/notes.h"
#include "readers/rheaper_files.h"
#include "replay/event_stream.h"

enum { ALLO_RHEAPER_EVENT_SIZE = 49 };

/* Events whose streams are indexes in the list of the files. */
struct allo_rheaper_span {
	struct allo_event *events;  /* without their stacks, which are the caller's to find */
	const uint64_t *backtraces; /* their ids; of a free 0 */
	const uint64_t *places;     /* where in the file they are */
	size_t count;               /* at most ALLO_EVENTS_AT_ONCE */
};

struct allo_rheaper_cursor;

/* All zeros: nothing to close. */
struct allo_rheaper_events {
	uint64_t count;   /* handed out so far */
	uint64_t last_ns; /* of the last one */

	/* Private from here on. */
	struct allo_rheaper_files *files;
	struct allo_notes *notes;
	struct allo_rheaper_cursor *cursors;
	unsigned char *buffers; /* one for each cursor */
	size_t buffer_size;
	ALLO_VEC(struct allo_rheaper_cursor *) heap; /* that with the next event first */
	bool has_last;
	uint64_t last_number;
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
	uint64_t backtraces[ALLO_EVENTS_AT_ONCE];
	uint64_t places[ALLO_EVENTS_AT_ONCE];
};

/* Notes what is odd about the events as they are read.  Files and notes stay as long. */
bool allo_rheaper_events_open(struct allo_rheaper_events *events, struct allo_rheaper_files *files,
			      struct allo_notes *notes, struct allo_error *err);

/* The next events, which stay until the next call.  False at the end and at failure. */
bool allo_rheaper_events_next(struct allo_rheaper_events *events, struct allo_rheaper_span *span,
			      struct allo_error *err);

void allo_rheaper_events_close(struct allo_rheaper_events *events);

#endif
