/*
 * recording_stacks.h - the stacks of a recording in a profile: what needs none of its events.
 */
#ifndef ALLO_REPLAY_RECORDING_STACKS_H
#define ALLO_REPLAY_RECORDING_STACKS_H

#include "profile/profile.h"
#include "replay/recording.h"

/* Adds the modules and the stacks of wanted nodes, and of those outside of them, to an empty
 * profile.  `is_wanted` is by number of a node; NULL: all are.  `stacks` gets the stack of each
 * node, by number, or 0; it is to be freed. */
bool allo_recording_add_stacks(struct allo_profile *profile, const struct allo_recording *recording,
			       const bool *is_wanted, allo_stack_id **stacks,
			       struct allo_error *err);

/* Tells of which process it is, when it began and, as far as is known without events, how long it
 * took. */
void allo_recording_set_process(struct allo_profile *profile,
				const struct allo_recording *recording);

/* Gives frames the names that are stored in the recording, unless it is to leave addresses. */
bool allo_recording_use_names(struct allo_profile *profile, struct allo_recording *recording,
			      struct allo_error *err);

/* All of this, of all nodes: a profile without samples. */
bool allo_profile_from_stacks(struct allo_profile *profile, struct allo_recording *recording,
			      allo_stack_id **stacks, struct allo_error *err);

#endif
