/*
 * calls.h - numbers for calls that are the same to whoever looks at them.
 *
 * Frames are places in the code, and a frame has several calls where some are inlined.  Viewers
 * want to know which of them are one and the same: calls of one function, or of one function from
 * one line.  Frames may be added to the profile at any time, ids stay.
 */
#ifndef ALLO_WRITERS_CALLS_H
#define ALLO_WRITERS_CALLS_H

#include "profile/naming.h"

/* What tells calls apart. */
struct allo_call {
	struct allo_line line; /* line and column are 0 where they do not */
	allo_module_id module; /* only where the file is not known, */
	allo_frame_id frame;   /* and this where the function is not */
};

/* All zeros: no calls. */
struct allo_calls {
	bool by_line;                     /* and column, besides the function */
	ALLO_VEC(struct allo_call) calls; /* by number */

	/* Private from here on. */
	struct allo_map map;          /* of numbers + 1 */
	ALLO_VEC(uint32_t) numbers;   /* of all calls of all frames, one after the other */
	ALLO_VEC(size_t) first_calls; /* in numbers[], by frame */
};

void allo_calls_done(struct allo_calls *calls);

/* Gives numbers to the calls of all frames that have come since; false when memory is short. */
bool allo_calls_cover(struct allo_calls *calls, const struct allo_profile *profile);

/* The numbers of a frame's calls, the innermost first; allo_frame_call_count() says how many. */
static inline const uint32_t *allo_calls_of(const struct allo_calls *calls, allo_frame_id frame)
{
	return calls->numbers.at + calls->first_calls.at[frame];
}

struct allo_text allo_calls_name(const struct allo_calls *calls, const struct allo_profile *profile,
				 uint32_t number, char scratch[ALLO_NAME_SCRATCH]);

#endif
