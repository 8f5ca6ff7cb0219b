/*
 * folded_stacks.h - the stacks of folded lines, "main;parse line;malloc", known by their text.
 *
 * What such a text begins with, up to any ';', is the text of a stack as well.  So of a new one the
 * longest beginning that is known is looked for, from the end, and only what follows is taken
 * apart: the frames near the root, which most lines share, are never looked at.
 *
 * Texts are known by their hashes and not kept.  Of the stacks that a text adds only the first is
 * in the map: the others have the ids that follow on it, and are found by following.
 */
#ifndef ALLO_READERS_FOLDED_STACKS_H
#define ALLO_READERS_FOLDED_STACKS_H

#include "base/input.h"
#include "base/text_ids.h"
#include "profile/profile.h"

enum { ALLO_FOLDED_TOGETHER = 16 }; /* texts that are looked up at once */

/* A text and the stack that it is. */
struct allo_folded_text {
	struct allo_text text; /* in the window of the input */
	struct allo_hash128 hash;
	allo_stack_id stack;
};

struct allo_folded_stacks {
	const struct allo_input *in;  /* for places */
	struct allo_profile *profile; /* has no stacks but ours */

	/* Private from here on. */
	struct allo_map text_map;  /* stacks by the upper half of the hash of their text */
	ALLO_VEC(uint64_t) checks; /* the lower half, by stack */
	/* A byte for each slot of the map, with a bit for each text whose place that is.  Most that
	 * is looked for is not there; this tells it without waiting for the map, as it is small
	 * enough for the caches. */
	unsigned char *signs;
	size_t sign_count;
	struct allo_text_ids names;              /* frames */
	ALLO_VEC(allo_frame_id) frames;          /* those that a text has more than a known one */
	ALLO_VEC(struct allo_hash_state) states; /* of the text at hand */
	ALLO_VEC(char) plain;                    /* a text without its empty names */
	struct allo_text original;               /* what that was made of */
};

/* `in` and `profile` are set by the caller, all else is zero; false when memory is short. */
bool allo_folded_stacks_init(struct allo_folded_stacks *stacks, struct allo_error *err);
void allo_folded_stacks_done(struct allo_folded_stacks *stacks);

/* The hash that adding a text asks for. */
static inline struct allo_hash128 allo_folded_stacks_hash(const struct allo_folded_stacks *stacks,
							  struct allo_text text)
{
	return allo_text_ids_hash(&stacks->names, text);
}

/* Finds the stacks of up to ALLO_FOLDED_TOGETHER texts with their hashes, or makes them, with new
 * ids in the order of the texts. */
bool allo_folded_stacks_add(struct allo_folded_stacks *stacks, struct allo_folded_text *texts,
			    size_t count, struct allo_error *err);

#endif
