/*
 * recording_profile.h - what a recording amounts to: stacks with numbers.
 */
#ifndef ALLO_REPLAY_RECORDING_PROFILE_H
#define ALLO_REPLAY_RECORDING_PROFILE_H

#include "profile/profile.h"
#include "replay/recording.h"
#include "replay/summary.h"

/* Replays all events into an empty profile.  What the recording lacks is noted there.  `summary`
 * may be NULL. */
bool allo_profile_from_recording(struct allo_profile *profile, struct allo_recording *recording,
				 struct allo_summary *summary, struct allo_error *err);

#endif
