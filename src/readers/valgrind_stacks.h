/*
 * valgrind_stacks.h - stacks of frames as Valgrind's tools print them.
 *
 * They list an inlined call as a frame of its own with the same address; here such runs become one
 * frame with several lines.
 */
#ifndef ALLO_READERS_VALGRIND_STACKS_H
#define ALLO_READERS_VALGRIND_STACKS_H

#include "base/text.h"
#include "profile/stack_builder.h"

struct allo_valgrind_frame {
	uint64_t address;
	struct allo_text name;   /* empty when unknown ("???") */
	struct allo_text file;   /* empty when unknown */
	struct allo_text object; /* the program or library; empty when not told */
	uint32_t line, column;   /* 0 when unknown */
};

/* Parts of `text`.  False when it does not start with an address: then all of it is the name. */
bool allo_valgrind_frame_parse(struct allo_text text, struct allo_valgrind_frame *frame);

struct allo_valgrind_entry {
	struct allo_line line; /* function 0: nothing is known but the address */
	allo_string_id object;
	allo_module_id module;
	allo_frame_id alone; /* its frame where nothing is inlined; 0 until a stack has it */
};

/* Entries at one address, each inlined into the one before: what becomes one frame.  It is known by
 * its hash, of which the map has one half. */
struct allo_valgrind_run {
	uint64_t hash;
	allo_frame_id frame;
};

/* An entry of the stack that was made last. */
struct allo_valgrind_step {
	uint32_t entry;
	uint32_t run_start; /* the step that its run begins with */
	uint32_t depth;     /* frames in front of its own */
};

/* All zeros is empty. */
struct allo_valgrind_stacks {
	ALLO_VEC(struct allo_valgrind_entry) entries;
	ALLO_VEC(uint64_t) addresses; /* of the entries: asked for much more often than the rest */
	ALLO_VEC(struct allo_valgrind_run) runs;   /* of more than one entry */
	ALLO_VEC(uint32_t) run_entries;            /* the outermost of each first */
	struct allo_map run_map;                   /* to indices of `runs` + 1 */
	ALLO_VEC(struct allo_valgrind_step) steps; /* root first */
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
