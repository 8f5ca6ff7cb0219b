/*
 * flame.h - which calls a flame graph draws, and where.
 *
 * A picture of a few thousand boxes says all that an eye can see.  What is too narrow or too deep
 * for it is left out, but counts in the boxes of its callers.
 */
#ifndef ALLO_WRITERS_FLAME_H
#define ALLO_WRITERS_FLAME_H

#include "analysis/tree.h"

enum {
	ALLO_FLAME_WIDTH = 1200,     /* pixels of the picture as it is drawn first */
	ALLO_FLAME_DEPTH_MAX = 1000, /* rows below the one for all; beyond, nobody scrolls */
	ALLO_FLAME_NAME_MAX = 1000,  /* bytes of a name that are shown, more or less */
	ALLO_FLAME_GROUPS = 8,       /* colours of modules; there is one more for all others */
};

struct allo_flame_box {
	allo_node_id node;
	uint32_t depth;      /* 0 for all, then 1 for the outermost callers */
	double start, width; /* of a picture that is 1 wide */
	uint32_t group;      /* in groups[]; ALLO_FLAME_GROUPS for all others */
};

/* All zeros: nothing to give back. */
struct allo_flame {
	struct allo_tree tree;
	ALLO_VEC(struct allo_flame_box)
	boxes; /* callers first, then what they call, left to right */
	uint32_t rows;
	bool has_narrow, has_deep; /* something was left out, and why */
	/* What boxes of the same colour have in common, the one that takes up most first; an empty
	 * name for those of which nothing is known. */
	struct allo_text groups[ALLO_FLAME_GROUPS];
	uint32_t group_count;
	bool has_others; /* some boxes belong to none of these */
};

bool allo_flame_init(struct allo_flame *flame, const struct allo_profile *profile,
		     const struct allo_columns *columns, struct allo_error *err);
void allo_flame_done(struct allo_flame *flame);

/* Where the calls of a node are: the file; empty when not known. */
struct allo_text allo_flame_file(const struct allo_profile *profile, const struct allo_node *node);

/* The file's name of its module; empty when not known. */
struct allo_text allo_flame_module(const struct allo_profile *profile,
				   const struct allo_node *node);

/* Gives boxes their groups. */
bool allo_flame_group(struct allo_flame *flame, const struct allo_profile *profile,
		      struct allo_error *err);

#endif
