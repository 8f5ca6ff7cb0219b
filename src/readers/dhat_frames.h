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
	uint32_t alone;          /* the run that it makes by itself; 0 until it is needed */
	uint32_t outer, inlined; /* the last run that it was inlined into, and what that made */
};

/* An entry and those it was inlined into: what becomes one frame. */
struct allo_dhat_run {
	uint32_t outer; /* the run without its innermost entry; 0: there is none */
	uint32_t entry;
	uint32_t length;
	allo_frame_id frame; /* 0 until a stack has it */
};

/* One entry further from the root. */
struct allo_dhat_step {
	uint64_t address;
	uint32_t entry;
	uint32_t run;
	bool is_inlined; /* so that the run before goes on */
};

/* All zeros is empty. */
struct allo_dhat_frames {
	ALLO_VEC(struct allo_dhat_entry) entries;
	ALLO_VEC(struct allo_dhat_run) runs; /* 0 is none */
	struct allo_map run_map;             /* of those with an outer one */
	ALLO_VEC(struct allo_dhat_step) steps; /* of the stack that was made last */
	ALLO_VEC(struct allo_line) lines;      /* of the frame at hand */
	struct allo_stack_builder builder;
	/* Notes that the table gave rise to: which entry was the first. */
	uint32_t first_noted[ALLO_NOTES];
};

void allo_dhat_frames_done(struct allo_dhat_frames *frames);

/* Reads the array of strings.  The table must be empty. */
bool allo_dhat_frames_read(struct allo_dhat_frames *frames, struct allo_json *json,
			   struct allo_profile *profile, struct allo_error *err);

/* Steps over the same array once more, and sets right where its notes were: what is read out of turn
 * does not know its line. */
bool allo_dhat_frames_skip(const struct allo_dhat_frames *frames, struct allo_json *json,
			   struct allo_profile *profile, struct allo_error *err);

/* Makes modules of the objects that frames were found in; the program of `command` comes first. */
bool allo_dhat_frames_find_modules(struct allo_dhat_frames *frames, struct allo_profile *profile,
				   struct allo_text command, struct allo_error *err);

/* The stack of entries listed leaf first.  Every entry must exist. */
allo_stack_id allo_dhat_frames_stack(struct allo_dhat_frames *frames, const uint32_t *entries,
				     size_t count, struct allo_profile *profile,
				     struct allo_error *err);

#endif
