/*
 * tree.h - a call tree of a profile's samples: from the outermost callers down, or inverted, from
 * the allocating functions up.
 */
#ifndef ALLO_ANALYSIS_TREE_H
#define ALLO_ANALYSIS_TREE_H

#include "analysis/sum.h"

typedef uint32_t allo_node_id;

/* When two calls from the same caller share a node. */
enum allo_tree_grain {
	ALLO_GRAIN_FUNCTION, /* same function name and file */
	ALLO_GRAIN_LINE,     /* and same line */
	ALLO_GRAIN_ADDRESS,  /* and same address */
	ALLO_GRAIN_CALL,     /* same address, module, function, line and column: a frame of DHAT */
};

struct allo_tree_node {
	allo_node_id parent;
	allo_node_id first_child, next_sibling; /* 0: none; the heaviest sibling comes first */
	/* An example of the calls of this node: a stack, its frame, and a call of the frame. */
	allo_stack_id stack;
	allo_frame_id frame;
	uint32_t call;
	uint32_t call_count; /* calls in this node: 1, or more with `joins_chains`; 0: none */
	uint32_t omitted;    /* children below the least share, or beyond the level of the cut */
	uint32_t left_out;   /* those of them that are not 0 */
	bool has_lines;      /* the calls are on different lines */
	struct allo_values self, total;
	/* Width in a drawing: the sum of max(value, before) over the samples.  So decreases are
	 * visible too, and children fit into their parents. */
	allo_sum width;
};

/* Node 0 is the root, which has no frame.  Parents come before their children. */
struct allo_tree {
	ALLO_VEC(struct allo_tree_node) nodes;
	/* Inverted trees only: the innermost node of each sample, and ALLO_TREE_BELOW when the
	 * sample continues in a child that is omitted. */
	uint32_t *sample_nodes;
	/* Inverted trees of a deep recursion end at this level; 0: all levels are there.  Such a
	 * tree has a sample for each depth in each of its levels. */
	uint32_t cut_level;
};

enum { ALLO_TREE_BELOW = 1u << 31 };

void allo_tree_done(struct allo_tree *tree);

struct allo_tree_options {
	enum allo_tree_grain grain;
	bool is_inverted;  /* the root's children are the allocating functions */
	bool joins_chains; /* inverted only: a call shares the node of its only callee */
	/* Omits nodes with less than this share of the root's width, from 0 to 1.  This saves most
	 * of the work.  They count in the totals of their parents. */
	double least_share;
};

bool allo_tree_from_profile(struct allo_tree *tree, const struct allo_profile *profile,
			    const struct allo_metric_columns *columns,
			    const struct allo_tree_options *options, struct allo_error *err);

#endif
