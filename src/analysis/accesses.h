/*
 * accesses.h - decodes DHAT's access counts of the bytes of a block.
 */
#ifndef ALLO_ANALYSIS_ACCESSES_H
#define ALLO_ANALYSIS_ACCESSES_H

#include "profile/profile.h"

struct allo_access_run {
	uint64_t length; /* number of consecutive bytes */
	uint32_t count;  /* accesses of each byte */
};

enum { ALLO_ACCESSES_SATURATED = 65535 }; /* this many or more */

/* Removes the next run of equal counts from *runs; false at the end. */
bool allo_access_run_next(const struct allo_profile *profile, struct allo_accesses *runs,
			  struct allo_access_run *run);

#endif
