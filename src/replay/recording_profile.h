/*
 * recording_profile.h - replays a recording into a profile.
 */
#ifndef ALLO_REPLAY_RECORDING_PROFILE_H
#define ALLO_REPLAY_RECORDING_PROFILE_H

#include "profile/profile.h"
#include "replay/recording/marks.h"
#include "replay/recording/recording.h"
#include "replay/summary.h"
#include "replay/timeline.h"
#include "replay/view.h"

struct allo_heap_observer;

/* The requested view.  All zeros: the whole recording, all metrics. */
struct allo_replay {
	struct allo_window window;
	enum allo_view_instant at; /* of the window: live_blocks and live_bytes only; see view.h */
	bool by_thread;            /* samples are told apart by thread, with labels for it */
	bool keeps_first; /* a block of realloc belongs to the stack of its first allocation */
	struct allo_timeline *timeline; /* filled by the replay, or NULL */
	struct allo_marks *marks;       /* filled by the replay, or NULL */
	/* Takes the heap of a whole recording from the cache, and stores it there (heap_cache.h).
	 * Views of a part ignore it. */
	bool use_cache;
	/* Sees all events; the cache is written then, but not read.  Or NULL. */
	const struct allo_heap_observer *observer;
	const struct allo_heap *heap; /* the heap, if the events were replayed before; or NULL */
	uint64_t heap_events;         /* of the program, which that heap has counted */
	const bool *nodes; /* by number: nodes that get a stack even without samples; or NULL */
	allo_stack_id *
		*stacks; /* gets the stack of each node, to be freed by the caller; or NULL */
	/* Called for each block that is live at the end, with its stack, its labels and the time of
	 * its first allocation; or NULL. */
	bool (*take_live)(void *context, allo_stack_id stack, allo_labels_id labels,
			  uint64_t birth_ns, struct allo_error *err);
	void *live_context;
};

/* The heap of a replay, from the cache if it may be; `replay->heap` is NULL. */
bool allo_heap_of_replay(struct allo_heap *heap, struct allo_recording *recording,
			 const struct allo_replay *replay, uint64_t *events,
			 struct allo_error *err);

/* Replays events into an empty profile.  Frames get the names that are stored in the recording;
 * gaps of the recording become notes.  `replay` and `summary` may be NULL; the summary is that of
 * the window. */
bool allo_profile_from_recording(struct allo_profile *profile, struct allo_recording *recording,
				 const struct allo_replay *replay, struct allo_summary *summary,
				 struct allo_error *err);

/* Notes the gaps that are known: all of a packed recording that is intact, and of any recording
 * after a replay. */
void allo_recording_note_gaps(const struct allo_recording *recording, struct allo_notes *notes);

#endif
