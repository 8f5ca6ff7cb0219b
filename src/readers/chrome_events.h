/*
 * chrome_events.h - the calls of a Chrome trace: events of a JSON file, in any order.
 *
 *     {"ph":"B","name":"parse","pid":42,"tid":7,"ts":10.5}            parse begins at 10.5 us
 *     {"ph":"E","name":"parse","pid":42,"tid":7,"ts":12}              and ends
 *     {"ph":"X","name":"read","pid":42,"tid":7,"ts":13,"dur":2.25}    a whole call at once
 *     {"ph":"M","name":"thread_name","pid":42,"tid":7,"args":{"name":"main"}}
 *
 * Events of other kinds (instants, counters, flows, ...) are skipped.
 */
#ifndef ALLO_READERS_CHROME_EVENTS_H
#define ALLO_READERS_CHROME_EVENTS_H

#include "base/arena.h"
#include "base/input.h"
#include "base/text_ids.h"
#include "readers/seen_threads.h"

/* The end of a call that has none. */
#define ALLO_CHROME_NO_END INT64_MAX

struct allo_chrome_event {
	int64_t start_ns, end_ns; /* of an end, both are the same */
	allo_thread_id thread;
	uint32_t number; /* in the order of the file */
	uint32_t name;   /* in names[], from 1; 0: none is given */
	bool is_end;
};

struct allo_chrome_name {
	struct allo_text text;
	allo_frame_id frame; /* 0 until somebody needs it */
};

typedef ALLO_VEC(struct allo_chrome_event) allo_chrome_event_list;

/* All zeros but for input and profile. */
struct allo_chrome_events {
	struct allo_input *in;
	struct allo_profile *profile; /* gets threads and notes */
	struct allo_seen_threads threads;
	allo_chrome_event_list marks; /* beginnings, which have no end yet, and ends */
	allo_chrome_event_list calls; /* those that came as a whole */
	ALLO_VEC(struct allo_chrome_name) names;
	int64_t first_ns; /* no time is earlier; at most 0 */

	/* Private from here on. */
	struct allo_arena arena;       /* texts of the names */
	struct allo_text_ids name_ids; /* numbers, from 1 */
};

void allo_chrome_events_done(struct allo_chrome_events *events);

/* Reads the whole file. */
bool allo_chrome_events_read(struct allo_chrome_events *events, struct allo_error *err);

#endif
