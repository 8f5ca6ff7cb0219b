/*
 * followed_profile.h - the profile of a growing recording, again and again.
 *
 * The heap and the names of frames are kept between two reads, so a read replays the new events and
 * looks up the new frames only.
 */
#ifndef ALLO_ENGINE_FOLLOWED_PROFILE_H
#define ALLO_ENGINE_FOLLOWED_PROFILE_H

#include "engine/live/frame_names.h"
#include "engine/source.h"
#include "replay/follow.h"

#include <limits.h>

/* All zeros: nothing is followed.  Must not move. */
struct allo_followed_profile {
	/* Private. */
	struct allo_follow follow;
	bool is_open;
	char file[PATH_MAX]; /* the recording, */
	uint64_t start_ns;   /* and its start: a process may record to the same file again */
	uint64_t begin_ns;   /* of the window, monotonic clock */
	struct allo_frame_names names;
};

/* Reads live memory and all allocations so far of the recording `file`, which began at `start_ns`.
 * options->view is ignored. */
bool allo_followed_profile_read(struct allo_followed_profile *followed, const char *file,
				uint64_t start_ns, const struct allo_source_options *options,
				struct allo_profile *profile, struct allo_error *err);

/* Begins a window of a recording, now. */
bool allo_followed_profile_begin(struct allo_followed_profile *followed, const char *file,
				 uint64_t start_ns, struct allo_error *err);

/* Reads the allocations since then, and the change of live memory. */
bool allo_followed_profile_read_change(struct allo_followed_profile *followed,
				       const struct allo_source_options *options,
				       struct allo_profile *profile, struct allo_error *err);

/* Reads live memory, and the allocations since the last call; the first call for a recording finds
 * none.  It ends a window. */
bool allo_followed_profile_read_since(struct allo_followed_profile *followed, const char *file,
				      uint64_t start_ns, const struct allo_source_options *options,
				      struct allo_profile *profile, struct allo_error *err);

/* Adds symbol names to the frames of a profile.  Names that were found before are not looked up
 * again. */
bool allo_add_names_once(struct allo_frame_names *names, const struct allo_source_options *options,
			 struct allo_profile *profile, struct allo_error *err);

/* The size of the replayed heap is proportional to live blocks and stacks; this drops it. */
void allo_followed_profile_stop(struct allo_followed_profile *followed);

#endif
