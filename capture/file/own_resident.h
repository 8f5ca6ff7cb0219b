/*
 * own_resident.h - notes the resident memory of this process in its recording
 * (wire/resident_samples.h).
 *
 * `allo run` samples its processes from outside; without it, the process samples itself.  Only the
 * process can tell its exact peak when it ends.
 */
#ifndef ALLO_CAPTURE_OWN_RESIDENT_H
#define ALLO_CAPTURE_OWN_RESIDENT_H

#include "wire/layout.h"

/* Reserves room for the samples at the end of the head's slot. */
void allo_resident_reserve(struct allo_wire_head *head);

/* Adds a sample if one is due and `allo run` does not sample.  Call it now and then, after the
 * head's clock was updated. */
void allo_resident_attend(void);

/* Notes the peak of a recording that is about to end.  Does nothing in a child made by vfork. */
void allo_resident_end(void);

#endif
