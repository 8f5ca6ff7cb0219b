/*
 * call_numbers.h - numbers for the calls of a profile: replies name a function by its number.
 *
 * A call is a function in a file.  Code without a name is a call for each address.  Two calls are
 * equal if a tree by function (analysis/tree.h) puts them into one node.
 */
#ifndef ALLO_VIEW_CALL_NUMBERS_H
#define ALLO_VIEW_CALL_NUMBERS_H

#include "analysis/sites/attribution.h"
#include "analysis/sites/ownership.h"
#include "profile/naming.h"
#include "profile/shown_names.h"

/* As doc/reply.md numbers them. */
enum allo_call_kind {
	ALLO_CALL_OWN,
	ALLO_CALL_LIBRARY,
	ALLO_CALL_WRAPPER, /* or a container, or a language runtime */
	ALLO_CALL_ALLOCATOR,
	ALLO_CALL_STARTUP,
	ALLO_CALL_UNKNOWN,
};

struct allo_numbered_call {
	allo_string_id function, file; /* of code without a name: 0, and the path of the module */
	uint64_t address;              /* of code without a name */
	allo_frame_id frame;           /* an example: a frame, and one of its calls */
	uint32_t call;
};

/* All zeros is empty, ready for use.  It serves one profile, which may grow. */
struct allo_call_numbers {
	ALLO_VEC(struct allo_numbered_call) at; /* by number; [0] is none */

	/* Private from here on. */
	ALLO_VEC(uint32_t) first;   /* by frame: the index of its innermost call in `numbers` */
	ALLO_VEC(uint32_t) numbers; /* of the calls of all frames */
	struct allo_map map;
	struct allo_shown_names names;
	bool has_names;
};

void allo_call_numbers_done(struct allo_call_numbers *calls);

/* Numbers the calls of frames that the profile has gained. */
bool allo_call_numbers_cover(struct allo_call_numbers *calls, const struct allo_profile *profile,
			     struct allo_error *err);

/* The number of one of a frame's calls. */
static inline uint32_t allo_call_number(const struct allo_call_numbers *calls, allo_frame_id frame,
					uint32_t call)
{
	return calls->numbers.at[calls->first.at[frame] + call];
}

/* The number of a function in a file; 0 if the profile does not have it. */
uint32_t allo_call_numbers_find(const struct allo_call_numbers *calls, allo_string_id function,
				allo_string_id file);

/* The short name of a call.  Valid until the next call; made in `scratch` if it has no name. */
struct allo_text allo_call_numbers_name(struct allo_call_numbers *calls,
					const struct allo_profile *profile, uint32_t number,
					char scratch[ALLO_NAME_SCRATCH]);

enum allo_call_kind allo_call_numbers_kind(const struct allo_call_numbers *calls,
					   const struct allo_profile *profile,
					   struct allo_attribution *attribution,
					   struct allo_ownership *ownership, uint32_t number);

#endif
