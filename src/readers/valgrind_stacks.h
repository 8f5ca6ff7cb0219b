/*
 * valgrind_stacks.h - stacks of frames as Valgrind's tools print them.
 *
 * They list an inlined call as a frame of its own with the same address; here such runs become one
 * frame with several lines.
 */
#ifndef ALLO_READERS_VALGRIND_STACKS_H
#define ALLO_READERS_VALGRIND_STACKS_H

#include "profile/stack_builder.h"
#include "readers/valgrind_frame.h"

struct allo_valgrind_entry {
	uint64_t address;
	struct allo_line line; /* function 0: nothing is known but the address */
	allo_string_id object;
	allo_module_id module;
	uint32_t alone;          /* the run that it makes by itself; 0 until it is needed */
	uint32_t outer, inlined; /* the last run that it was inlined into, and what that made */
};

/* An entry and those it was inlined into: what becomes one frame. */
struct allo_valgrind_run {
	uint32_t outer; /* the run without its innermost entry; 0: there is none */
	uint32_t entry;
	uint32_t length;
	allo_frame_id frame; /* 0 until a stack has it */
};

/* One entry further from the root. */
struct allo_valgrind_step {
	uint64_t address;
	uint32_t entry;
	uint32_t run;
	bool is_inlined; /* so that the run before goes on */
};

/* All zeros is empty. */
struct allo_valgrind_stacks {
	ALLO_VEC(struct allo_valgrind_entry) entries;
	ALLO_VEC(struct allo_valgrind_run) runs;   /* 0 is none */
	struct allo_map run_map;                   /* of those with an outer one */
	ALLO_VEC(struct allo_valgrind_step) steps; /* of the stack that was made last */
	ALLO_VEC(struct allo_line) lines;          /* of the frame at hand */
	struct allo_stack_builder builder;
};

void allo_valgrind_stacks_done(struct allo_valgrind_stacks *stacks);

/* Adds an entry, whose number is how many there were before. */
bool allo_valgrind_stacks_add(struct allo_valgrind_stacks *stacks,
			      const struct allo_valgrind_frame *parsed,
			      struct allo_profile *profile, struct allo_error *err);

/* Makes modules of the objects that frames were found in; the program of `command` comes first. */
bool allo_valgrind_stacks_find_modules(struct allo_valgrind_stacks *stacks,
				       struct allo_profile *profile, struct allo_text command,
				       struct allo_error *err);

/* The stack of entries listed leaf first.  Every entry must exist. */
allo_stack_id allo_valgrind_stacks_build(struct allo_valgrind_stacks *stacks,
					 const uint32_t *entries, size_t count,
					 struct allo_profile *profile, struct allo_error *err);

#endif
