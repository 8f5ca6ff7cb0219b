/*
 * folded_stacks.h - interns the stacks of folded lines, "main;parse line;malloc", by their text.
 *
 * A prefix of such a text, up to any ';', is the text of a stack as well.  For a new text the
 * longest known prefix is looked up, from the end, and only the rest is split: the frames near the
 * root, which most lines share, are never looked at.
 *
 * Texts are identified by their hashes and not kept.  Of the stacks that a text adds, only the
 * first is in the map: the others have the ids after it, and are found by walking them.
 */
#ifndef ALLO_READERS_FOLDED_STACKS_H
#define ALLO_READERS_FOLDED_STACKS_H

#include "base/io/input.h"
#include "base/text_ids.h"
#include "profile/profile.h"

enum { ALLO_FOLDED_TOGETHER = 16 }; /* texts that are looked up together */

/* A text and its stack. */
struct allo_folded_text {
	struct allo_text text; /* in the window of the input */
	struct allo_hash128 hash;
	allo_stack_id stack;
};

struct allo_folded_stacks {
	const struct allo_input *in;  /* for positions */
	struct allo_profile *profile; /* must have no other stacks */

	/* Private from here on. */
	struct allo_map text_map;  /* stacks by the upper half of the hash of their text */
	ALLO_VEC(uint64_t) checks; /* the lower half, by stack */
	/* A filter: a byte per slot of the map, with a bit for each text that hashes there.
	 * Most lookups miss; the filter fits into the caches and saves waiting for the map. */
	unsigned char *signs;
	size_t sign_count;
	struct allo_text_ids names;              /* frames */
	ALLO_VEC(allo_frame_id) frames;          /* the frames of a text after its known prefix */
	ALLO_VEC(struct allo_hash_state) states; /* of the current text */
	ALLO_VEC(char) plain;                    /* a text without its empty names */
	struct allo_text original;               /* its original text */
};

/* `in` and `profile` are set by the caller, all else is zero; false when memory is short. */
bool allo_folded_stacks_init(struct allo_folded_stacks *stacks, struct allo_error *err);
void allo_folded_stacks_done(struct allo_folded_stacks *stacks);

/* The hash to pass with a text. */
static inline struct allo_hash128 allo_folded_stacks_hash(const struct allo_folded_stacks *stacks,
							  struct allo_text text)
{
	return allo_text_ids_hash(&stacks->names, text);
}

/* Finds or adds the stacks of up to ALLO_FOLDED_TOGETHER texts with their hashes; new ids are in
 * the order of the texts. */
bool allo_folded_stacks_add(struct allo_folded_stacks *stacks, struct allo_folded_text *texts,
			    size_t count, struct allo_error *err);

#endif
