/*
 * dhat_frames.h - the frame table of a DHAT file.
 */
#ifndef ALLO_READERS_DHAT_FRAMES_H
#define ALLO_READERS_DHAT_FRAMES_H

#include "base/json_read.h"
#include "readers/valgrind_stacks.h"

/* All zeros is empty. */
struct allo_dhat_frames {
	struct allo_valgrind_stacks stacks; /* an entry for each string of the table */
	uint32_t first_noted[ALLO_NOTES];   /* which of them, from 1, gave rise to a note first */
};

void allo_dhat_frames_done(struct allo_dhat_frames *frames);

/* Reads the array of strings.  The table must be empty. */
bool allo_dhat_frames_read(struct allo_dhat_frames *frames, struct allo_json *json,
			   struct allo_profile *profile, struct allo_error *err);

/* Steps over the same array once more, and sets right where its notes were: what is read out of
 * turn does not know its line. */
bool allo_dhat_frames_skip(const struct allo_dhat_frames *frames, struct allo_json *json,
			   struct allo_profile *profile, struct allo_error *err);

#endif
