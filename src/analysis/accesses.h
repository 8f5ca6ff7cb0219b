/*
 * accesses.h - how often the bytes of a sample's blocks were accessed, as DHAT counts it.
 */
#ifndef ALLO_ANALYSIS_ACCESSES_H
#define ALLO_ANALYSIS_ACCESSES_H

#include "profile/profile.h"

struct allo_access_run {
	uint64_t length; /* bytes of the block in a row, */
	uint32_t count;  /* each accessed so often */
};

enum { ALLO_ACCESSES_SATURATED = 65535 }; /* as often, or more */

/* Takes the next bytes with equal counts off *runs; false when there are no more. */
bool allo_access_run_next(const struct allo_profile *profile, struct allo_accesses *runs,
			  struct allo_access_run *run);

#endif
