/*
 * dhat_frames.h - the frame table of a DHAT file.
 */
#ifndef ALLO_READERS_DHAT_FRAMES_H
#define ALLO_READERS_DHAT_FRAMES_H

#include "base/json_read.h"
#include "readers/valgrind_stacks.h"

/* Reads the array of strings; each becomes an entry of `stacks`, which must be empty. */
bool allo_dhat_frames_read(struct allo_valgrind_stacks *stacks, struct allo_json *json,
			   struct allo_profile *profile, struct allo_error *err);

#endif
