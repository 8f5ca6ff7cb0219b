/*
 * calls.h - numbers for calls that viewers show as one.
 *
 * A frame is a place in the code; it has several calls where functions are inlined.  Viewers treat
 * calls of one function as one, or calls of one function from one line.  Frames may be added to
 * the profile at any time; the numbers stay.
 */
#ifndef ALLO_WRITERS_CALLS_H
#define ALLO_WRITERS_CALLS_H

#include "profile/naming.h"

/* The key of a call. */
struct allo_call_key {
	struct allo_line line; /* line and column are 0 unless `by_line` */
	allo_module_id module; /* only if the file is unknown */
	allo_frame_id frame;   /* only if the function is unknown */
};

/* All zeros: no calls. */
struct allo_calls {
	bool by_line;                         /* the line and column count, besides the function */
	ALLO_VEC(struct allo_call_key) calls; /* by number */

	/* Private from here on. */
	struct allo_map map;          /* of numbers + 1 */
	ALLO_VEC(uint32_t) numbers;   /* of all calls of all frames, one after the other */
	ALLO_VEC(size_t) first_calls; /* in numbers[], by frame */
};

void allo_calls_done(struct allo_calls *calls);

/* Numbers the calls of all frames added since the last call; false when memory is short. */
bool allo_calls_cover(struct allo_calls *calls, const struct allo_profile *profile);

/* The numbers of a frame's calls, the innermost first; allo_frame_call_count() counts them. */
static inline const uint32_t *allo_calls_of(const struct allo_calls *calls, allo_frame_id frame)
{
	return calls->numbers.at + calls->first_calls.at[frame];
}

struct allo_text allo_calls_name(const struct allo_calls *calls, const struct allo_profile *profile,
				 uint32_t number, char scratch[ALLO_NAME_SCRATCH]);

#endif
