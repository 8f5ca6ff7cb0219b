/*
 * rheaper_stacks.h - the backtraces of a rheaper recording.
 *
 *     {"frames":[{"file":"/src/main.rs","lineno":7,"sym_name":"app::main::h0123456789abcdef"},null],"id":77}
 *
 * One per line, in any number of files; the leaf is the first frame.  A backtrace that several
 * threads share may be in several files.
 */
#ifndef ALLO_READERS_RHEAPER_STACKS_H
#define ALLO_READERS_RHEAPER_STACKS_H

#include "profile/stack_builder.h"
#include "readers/rheaper/rheaper_files.h"

struct allo_rheaper_backtrace {
	uint64_t id;
	allo_stack_id stack; /* of the profile */
	uint32_t site; /* number of the stack, from 1; equal stacks have equal sites; 0: empty */
};

/* All zeros: nothing to drop. */
struct allo_rheaper_stacks {
	ALLO_VEC(struct allo_rheaper_backtrace) backtraces; /* [0] is none */
	ALLO_VEC(allo_stack_id) sites; /* the stack of each site; [0] is the empty one */

	/* Private from here on. */
	struct allo_map map;
	uint64_t seed;
	ALLO_VEC(uint32_t) site_of; /* by the profile's stack */
};

/* Reads all backtraces; adds stacks, frames and notes to the profile. */
bool allo_rheaper_stacks_read(struct allo_rheaper_stacks *stacks, struct allo_rheaper_files *files,
			      struct allo_profile *profile, struct allo_error *err);

/* The backtrace with this id, or NULL. */
static inline const struct allo_rheaper_backtrace *allo_rheaper_stacks_find(
	const struct allo_rheaper_stacks *stacks, uint64_t id)
{
	uint64_t hash = allo_hash_pair(id, 0, stacks->seed);
	struct allo_probe probe = allo_map_probe(&stacks->map, hash);
	uint32_t found;

	while ((found = allo_map_next(&stacks->map, &probe)) != 0) {
		if (stacks->backtraces.at[found].id == id)
			return &stacks->backtraces.at[found];
	}
	return NULL;
}

void allo_rheaper_stacks_done(struct allo_rheaper_stacks *stacks);

/* A Rust name without the hash that the compiler appends: "app::main". */
struct allo_text allo_without_rust_hash(struct allo_text name);

#endif
