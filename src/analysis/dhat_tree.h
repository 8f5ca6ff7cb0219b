/*
 * dhat_tree.h - program points as DHAT's own viewer arranges them.
 *
 * A radix tree of single calls, the allocating one first, inlined ones like all others: calls
 * without a side branch share a node.  Children that are not significant by the chosen sort become
 * one.
 */
#ifndef ALLO_ANALYSIS_DHAT_TREE_H
#define ALLO_ANALYSIS_DHAT_TREE_H

#include "analysis/dhat_sort.h"
#include "profile/naming.h"

/* A call on the way from the leaf of a stack to its root. */
struct allo_call {
	allo_stack_id stack; /* 0: past the root */
	uint32_t line;       /* which of the frame's calls */
};

/* The call that it was made by. */
static inline struct allo_call allo_call_outer(const struct allo_profile *profile,
					       struct allo_call call)
{
	const struct allo_stack *stack = &profile->stacks.at[call.stack];

	if (call.line + 1 < allo_frame_call_count(&profile->frames.at[stack->frame]))
		return (struct allo_call){ call.stack, call.line + 1 };
	return (struct allo_call){ stack->parent, 0 };
}

struct allo_dhat_node {
	struct allo_pp_values values;
	struct allo_call first_call; /* of those that the node adds to its parent's */
	uint64_t call_count, calls_before;
	uint64_t points;     /* of the profile, in this node and below */
	uint32_t sample;     /* the only point's, + 1; 0: there are several */
	uint32_t parent;     /* index; the root's is 0, as is its own */
	uint32_t depth;      /* 0: the root */
	uint32_t number, of; /* which of how many siblings, from 1 */
	uint32_t child_count;
	uint32_t merged;     /* how many insignificant nodes this stands for; 0: it is a real one */
	bool is_significant; /* itself; otherwise something below is, or it is the root */
};

/* All nodes that are worth showing, each followed by its children: the root is the first. */
struct allo_dhat_tree {
	ALLO_VEC(struct allo_dhat_node) nodes;
	struct allo_pp_columns columns;
	const struct allo_pp_sort *sort;
	double min_share; /* percent of the root's that makes a node significant */
};

void allo_dhat_tree_done(struct allo_dhat_tree *tree);

struct allo_dhat_options {
	const struct allo_pp_sort *sort; /* NULL: the default one */
	double min_share;                /* percent; negative: the sort's own */
};

/* Fails when the profile does not have what the sort looks at. */
bool allo_dhat_tree_from_profile(struct allo_dhat_tree *tree, const struct allo_profile *profile,
				 const struct allo_dhat_options *options, struct allo_error *err);

#endif
