/*
 * rheaper_profile.h - what a recording of rheaper's amounts to.
 */
#ifndef ALLO_READERS_RHEAPER_PROFILE_H
#define ALLO_READERS_RHEAPER_PROFILE_H

#include "readers/rheaper/rheaper_stacks.h"

/* Reads backtraces and events, and adds to an empty profile all that they amount to, threads (one
 * for each file of events, in their order) and notes included.  Memory grows with the blocks that
 * are live at once and with the distinct stacks. */
bool allo_rheaper_profile(struct allo_rheaper_files *files, struct allo_rheaper_stacks *stacks,
			  struct allo_profile *profile, struct allo_error *err);

#endif
