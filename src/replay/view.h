/*
 * view.h - a requested part of a recording, as options name it: by time, mark, thread, instant.
 */
#ifndef ALLO_REPLAY_VIEW_H
#define ALLO_REPLAY_VIEW_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>

struct allo_recording;
struct allo_replay;

/* The instant to show, if the view is not about a range. */
enum allo_view_instant {
	ALLO_AT_NONE,
	ALLO_AT_PEAK,
	ALLO_AT_END,
	ALLO_AT_NOW,    /* the end, with all allocations so far: of a running process */
	ALLO_AT_CHANGE, /* allocations in the range, and the change of live memory */
	ALLO_AT_SINCE,  /* allocations in the range, and live memory: allo_heap_keep_before() */
};

/* All zeros: the whole recording. */
struct allo_view {
	uint64_t from_ns, to_ns;             /* as in window.h */
	struct allo_text from_mark, to_mark; /* used instead, if not empty */
	enum allo_view_instant at;
	const char *thread; /* its number or name, which several may have; NULL for all */
	bool keeps_first;   /* as in recording_profile.h */
	bool use_cache;     /* the same */
	bool of_running;    /* the profile is of this moment of a process that still runs */
};

/* Whether the view is not just the whole recording. */
bool allo_view_is_partial(const struct allo_view *view);

/* Sets which streams are threads of a number or name; `threads` has room for all streams.  Fails if
 * there is none. */
bool allo_view_find_threads(const char *name, const struct allo_recording *recording, bool *threads,
			    struct allo_error *err);

/* Translates a view for a recording, whose arena holds the list of threads.  Fails if the recording
 * has no such thread or mark. */
bool allo_view_resolve(const struct allo_view *view, struct allo_recording *recording,
		       struct allo_replay *replay, struct allo_error *err);

#endif
