/*
 * recording_profile.h - what a recording amounts to: stacks with numbers.
 */
#ifndef ALLO_REPLAY_RECORDING_PROFILE_H
#define ALLO_REPLAY_RECORDING_PROFILE_H

#include "profile/profile.h"
#include "replay/marks.h"
#include "replay/recording.h"
#include "replay/summary.h"
#include "replay/timeline.h"
#include "replay/view.h"

/* What the profile is to tell.  All zeros: everything. */
struct allo_replay {
	struct allo_window window;
	enum allo_view_instant
		at;       /* of the window: only live_blocks and live_bytes, or what it says */
	bool by_thread;   /* samples are those of a thread, and labelled so */
	bool keeps_first; /* a realloc's block belongs to who has allocated it first */
	struct allo_timeline *timeline; /* to be made in passing, or NULL */
	struct allo_marks *marks;       /* the same */
	/* Takes the heap of a whole recording from the cache, and stores it there (heap_cache.h).
	 * Views of a part ignore it. */
	bool use_cache;
	const bool *nodes;      /* by number: these get a stack even if nothing counts; or NULL */
	allo_stack_id **stacks; /* gets the stack of each node, by number, to be freed; or NULL */
	/* Is told of each block that is live in the end: the stack and the labels that it counts
	 * for, and when it was first allocated; or NULL. */
	bool (*take_live)(void *context, allo_stack_id stack, allo_labels_id labels,
			  uint64_t birth_ns, struct allo_error *err);
	void *live_context;
};

/* Replays events into an empty profile.  Frames whose names are stored in the recording have them.
 * What the recording lacks is noted there.  `replay` and `summary` may be NULL; the summary is that
 * of the window. */
bool allo_profile_from_recording(struct allo_profile *profile, struct allo_recording *recording,
				 const struct allo_replay *replay, struct allo_summary *summary,
				 struct allo_error *err);

#endif
