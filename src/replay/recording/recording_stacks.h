/*
 * recording_stacks.h - converts the stacks and modules of a recording to a profile, without events.
 */
#ifndef ALLO_REPLAY_RECORDING_STACKS_H
#define ALLO_REPLAY_RECORDING_STACKS_H

#include "profile/profile.h"
#include "replay/recording/recording.h"

/* Adds the modules, and the stacks of wanted nodes and of their callers, to an empty profile.
 * `is_wanted` is indexed by node; NULL for all.  `stacks` gets the stack of each node, or 0; the
 * caller frees it. */
bool allo_recording_add_stacks(struct allo_profile *profile, const struct allo_recording *recording,
			       const bool *is_wanted, allo_stack_id **stacks,
			       struct allo_error *err);

/* Sets process, start and, as far as it is known without events, duration. */
void allo_recording_set_process(struct allo_profile *profile,
				const struct allo_recording *recording);

/* Gives frames the names stored in the recording, unless leaves_addresses is set. */
bool allo_recording_use_names(struct allo_profile *profile, struct allo_recording *recording,
			      struct allo_error *err);

/* All of this for all nodes: a profile without samples. */
bool allo_profile_from_stacks(struct allo_profile *profile, struct allo_recording *recording,
			      allo_stack_id **stacks, struct allo_error *err);

#endif
