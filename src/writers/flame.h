/*
 * flame.h - the calls that a flame graph draws, and their places.
 *
 * A picture of a few thousand boxes shows everything that an eye can see.  Calls that are too
 * narrow or too deep are left out, but count in the boxes of their callers.
 */
#ifndef ALLO_WRITERS_FLAME_H
#define ALLO_WRITERS_FLAME_H

#include "analysis/tree.h"

enum {
	ALLO_FLAME_WIDTH = 1200,     /* pixels of the picture before any zoom */
	ALLO_FLAME_DEPTH_MAX = 1000, /* rows below the root; no one scrolls further */
	ALLO_FLAME_NAME_MAX = 1000,  /* bytes of a name that are shown, approximately */
	ALLO_FLAME_GROUPS = 8,       /* colours of modules; one more is for all others */
};

struct allo_flame_box {
	allo_node_id node;
	uint32_t depth;      /* 0 for the root, 1 for the outermost callers */
	double start, width; /* parts of the whole width */
	uint32_t group;      /* in groups[]; ALLO_FLAME_GROUPS for all others */
};

/* All zeros: nothing to give back. */
struct allo_flame {
	struct allo_tree tree;
	ALLO_VEC(struct allo_flame_box)
	boxes; /* callers before their callees, left to right */
	uint32_t rows;
	bool has_narrow, has_deep; /* why calls were left out */
	/* Names of the colours, the most frequent first: a module, package or file.  An empty name
	 * is for boxes of which none is known. */
	struct allo_text groups[ALLO_FLAME_GROUPS];
	uint32_t group_count;
	bool has_others; /* some boxes belong to no group */
};

bool allo_flame_init(struct allo_flame *flame, const struct allo_profile *profile,
		     const struct allo_metric_columns *columns, struct allo_error *err);
void allo_flame_done(struct allo_flame *flame);

/* The source file of a node's call; empty when unknown. */
struct allo_text allo_flame_file(const struct allo_profile *profile,
				 const struct allo_tree_node *node);

/* The file name of its module; empty when unknown. */
struct allo_text allo_flame_module(const struct allo_profile *profile,
				   const struct allo_tree_node *node);

#endif
