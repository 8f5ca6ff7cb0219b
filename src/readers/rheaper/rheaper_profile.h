/*
 * rheaper_profile.h - builds the profile of a rheaper recording.
 */
#ifndef ALLO_READERS_RHEAPER_PROFILE_H
#define ALLO_READERS_RHEAPER_PROFILE_H

#include "readers/rheaper/rheaper_stacks.h"

/* Reads backtraces and events into an empty profile, including notes and threads: one per file of
 * events, in the order of the files.  Memory grows with the number of live blocks and of distinct
 * stacks. */
bool allo_rheaper_profile(struct allo_rheaper_files *files, struct allo_rheaper_stacks *stacks,
			  struct allo_profile *profile, struct allo_error *err);

#endif
