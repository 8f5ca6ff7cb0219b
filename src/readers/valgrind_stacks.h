/*
 * valgrind_stacks.h - parses and interns stack frames as Valgrind's tools print them.
 *
 *     0x109C54: std::vector<int>::push_back(int&&) (vector.h:1203)
 *     0x4E5D2A: CRYPTO_malloc (in /usr/lib/x86_64-linux-gnu/libcrypto.so.3)
 *     0x10c3a1: alloc::alloc::alloc (alloc/src/alloc.rs:98:9)       the dhat crate
 *
 * The tools list an inlined call as a separate frame with the same address; here such a run becomes
 * one frame with several lines.
 */
#ifndef ALLO_READERS_VALGRIND_STACKS_H
#define ALLO_READERS_VALGRIND_STACKS_H

#include "base/text.h"
#include "profile/stack_builder.h"

struct allo_valgrind_frame {
	uint64_t address;
	struct allo_text name;   /* empty when unknown ("???") */
	struct allo_text file;   /* empty when unknown */
	struct allo_text object; /* the program or library; empty when unknown */
	uint32_t line, column;   /* 0 when unknown */
};

/* Points into `text`.  False when it does not start with an address: then all of it is the name. */
bool allo_valgrind_frame_parse(struct allo_text text, struct allo_valgrind_frame *frame);

struct allo_valgrind_entry {
	struct allo_line line; /* function 0: only the address is known */
	allo_string_id object;
	allo_module_id module;
	allo_frame_id alone; /* its frame without inlined calls; 0 until a stack uses it */
};

/* A run: entries at one address, each inlined into the one before, which become one frame.  It is
 * identified by its hash; the map holds one half of that. */
struct allo_valgrind_run {
	uint64_t hash;
	allo_frame_id frame;
};

/* An entry of the latest stack. */
struct allo_valgrind_step {
	uint32_t entry;
	uint32_t run_start; /* the first step of its run */
	uint32_t depth;     /* frames before its own */
};

/* All zeros is empty. */
struct allo_valgrind_stacks {
	ALLO_VEC(struct allo_valgrind_entry) entries;
	ALLO_VEC(uint64_t) addresses; /* of the entries: read much more often than the rest */
	ALLO_VEC(struct allo_valgrind_run) runs;   /* of more than one entry */
	ALLO_VEC(uint32_t) run_entries;            /* the outermost of each first */
	struct allo_map run_map;                   /* to indices of `runs` + 1 */
	ALLO_VEC(struct allo_valgrind_step) steps; /* root first */
	ALLO_VEC(struct allo_line) lines;          /* of the current frame */
	struct allo_stack_builder builder;
};

void allo_valgrind_stacks_done(struct allo_valgrind_stacks *stacks);

/* Adds an entry; its number is the count of entries before. */
bool allo_valgrind_stacks_add(struct allo_valgrind_stacks *stacks,
			      const struct allo_valgrind_frame *parsed,
			      struct allo_profile *profile, struct allo_error *err);

/* Adds the objects of the frames to the profile as modules, the program of `command` first. */
bool allo_valgrind_stacks_find_modules(struct allo_valgrind_stacks *stacks,
				       struct allo_profile *profile, struct allo_text command,
				       struct allo_error *err);

/* The stack of entries listed leaf first.  Every entry must exist. */
allo_stack_id allo_valgrind_stacks_build(struct allo_valgrind_stacks *stacks,
					 const uint32_t *entries, size_t count,
					 struct allo_profile *profile, struct allo_error *err);

#endif
