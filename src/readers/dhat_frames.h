/*
 * dhat_frames.h - the frame table of a DHAT file, and stacks made of it.
 *
 * DHAT lists an inlined call as a frame of its own with the same address; here such runs become one
 * frame with several lines.
 */
#ifndef ALLO_READERS_DHAT_FRAMES_H
#define ALLO_READERS_DHAT_FRAMES_H

#include "base/json_read.h"
#include "profile/stack_builder.h"

struct allo_dhat_entry {
	uint64_t address;
	struct allo_line line; /* function 0: nothing is known but the address */
	allo_string_id object;
	allo_module_id module;
	allo_frame_id frame; /* when it stands alone; 0 until it is needed */
	allo_frame_id outer, inlined; /* the last frame it was inlined into, and what that made */
};

/* One entry further from the root: the frame that it and those it was inlined into make. */
struct allo_dhat_step {
	uint64_t address;
	uint32_t entry;
	allo_frame_id run;
	bool is_inlined; /* so that the run before goes on */
};

/* A frame with one more line inside. */
struct allo_dhat_inline {
	allo_frame_id outer, inner_and_outer;
	uint32_t entry;
};

/* All zeros is empty. */
struct allo_dhat_frames {
	ALLO_VEC(struct allo_dhat_entry) entries;
	ALLO_VEC(struct allo_dhat_inline) inlines;
	struct allo_map inline_map;
	ALLO_VEC(struct allo_dhat_step) steps; /* of the stack that was made last */
	struct allo_stack_builder builder;
};

void allo_dhat_frames_done(struct allo_dhat_frames *frames);

/* Reads the array of strings.  The table must be empty. */
bool allo_dhat_frames_read(struct allo_dhat_frames *frames, struct allo_json *json,
			   struct allo_profile *profile, struct allo_error *err);

/* Makes modules of the objects that frames were found in; the program of `command` comes first. */
bool allo_dhat_frames_find_modules(struct allo_dhat_frames *frames, struct allo_profile *profile,
				   struct allo_text command, struct allo_error *err);

/* The stack of entries listed leaf first.  Every entry must exist. */
allo_stack_id allo_dhat_frames_stack(struct allo_dhat_frames *frames, const uint32_t *entries,
				     size_t count, struct allo_profile *profile,
				     struct allo_error *err);

#endif
