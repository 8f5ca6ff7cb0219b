/*
 * tree.h - samples merged into a tree of calls, from the outermost callers down or from the
 * allocating functions up.
 */
#ifndef ALLO_ANALYSIS_TREE_H
#define ALLO_ANALYSIS_TREE_H

#include "analysis/sum.h"

typedef uint32_t allo_node_id;

/* What makes two calls of the same caller one node. */
enum allo_tree_grain {
	ALLO_GRAIN_FUNCTION, /* name and file */
	ALLO_GRAIN_LINE,     /* and line */
	ALLO_GRAIN_ADDRESS,  /* and address */
};

struct allo_node {
	allo_node_id parent;
	allo_node_id first_child, next_sibling; /* 0: none; sorted, the heaviest first */
	allo_frame_id frame;                    /* an example of what is merged here, */
	uint32_t call;                          /* and which of its calls */
	uint32_t left_out;                      /* children that are something, but too small */
	bool has_lines; /* what is merged here is not all on the same line */
	struct allo_values self, total;
	/* What it takes up in a drawing: of value and before the larger, sample by sample, so that
	 * what has gone is seen as well, and children fit into their parents. */
	allo_sum width;
};

/* Node 0 is the root, which stands for no frame; parents come before their children. */
struct allo_tree {
	ALLO_VEC(struct allo_node) nodes;
};

void allo_tree_done(struct allo_tree *tree);

struct allo_tree_options {
	enum allo_tree_grain grain;
	bool is_inverted; /* the root's children are the allocating functions, callers below them */
	/* Nodes with less than this share of the root's width, from 0 to 1, are left out, which
	 * saves most of the work.  They count in the totals of their callers. */
	double least_share;
};

bool allo_tree_from_profile(struct allo_tree *tree, const struct allo_profile *profile,
			    const struct allo_columns *columns,
			    const struct allo_tree_options *options, struct allo_error *err);

#endif
