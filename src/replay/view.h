/*
 * view.h - which part of a recording somebody wants to see, before it is known what is in it.
 */
#ifndef ALLO_REPLAY_VIEW_H
#define ALLO_REPLAY_VIEW_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>

struct allo_recording;
struct allo_replay;

/* At which instant, if that is all that is asked for. */
enum allo_view_instant {
	ALLO_AT_NONE,
	ALLO_AT_PEAK,
	ALLO_AT_END,
	ALLO_AT_NOW,    /* the same, with what was ever allocated: of a process that runs */
	ALLO_AT_CHANGE, /* between two: what was allocated, and by how much more or less is live */
};

/* All zeros: everything. */
struct allo_view {
	uint64_t from_ns, to_ns;             /* as in window.h */
	struct allo_text from_mark, to_mark; /* in their place, if they are not empty */
	enum allo_view_instant at;
	const char *thread; /* its number or name, which several may have; NULL: all */
	bool keeps_first;   /* as in recording_profile.h */
	bool use_cache;     /* the same */
};

/* Whether anything is left out. */
bool allo_view_is_partial(const struct allo_view *view);

/* What that means for a recording, which owns what is needed for it.  Fails when it has no such
 * thread or mark. */
bool allo_view_resolve(const struct allo_view *view, struct allo_recording *recording,
		       struct allo_replay *replay, struct allo_error *err);

#endif
