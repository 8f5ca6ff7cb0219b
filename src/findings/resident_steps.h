/*
 * resident_steps.h - the resident memory of malloc over time.
 */
#ifndef ALLO_FINDINGS_RESIDENT_STEPS_H
#define ALLO_FINDINGS_RESIDENT_STEPS_H

#include "replay/timeline.h"

/* Sets `steps` to the resident bytes of malloc's memory in each step of a timeline, to be freed; to
 * NULL if the recording does not have them. */
bool allo_resident_steps(const struct allo_recording *recording,
			 const struct allo_timeline *timeline, uint64_t **steps,
			 struct allo_error *err);

#endif
