/*
 * dhat_tree.h - the tree of program points that DHAT's viewer shows.
 *
 * It is an inverted call tree of single calls, inlined ones included; a chain of calls without
 * branches is one node.  The children of a node that are insignificant by the chosen sort are
 * merged into one.
 */
#ifndef ALLO_ANALYSIS_DHAT_TREE_H
#define ALLO_ANALYSIS_DHAT_TREE_H

#include "analysis/dhat_sort.h"
#include "profile/naming.h"

/* A call of a stack. */
struct allo_stack_call {
	allo_stack_id stack; /* 0: beyond the root */
	uint32_t line;       /* index of the call in the frame, from the innermost */
};

/* The caller of a call. */
static inline struct allo_stack_call allo_stack_call_outer(const struct allo_profile *profile,
							   struct allo_stack_call call)
{
	const struct allo_stack *stack = &profile->stacks.at[call.stack];

	if (call.line + 1 < allo_frame_call_count(&profile->frames.at[stack->frame]))
		return (struct allo_stack_call){ call.stack, call.line + 1 };
	return (struct allo_stack_call){ stack->parent, 0 };
}

struct allo_dhat_node {
	struct allo_pp_values values;
	struct allo_stack_call first_call; /* of the calls in this node */
	uint64_t call_count, calls_before; /* calls in this node, and in the nodes above it */
	uint64_t points;                   /* program points in this node and below */
	uint32_t point;                    /* index of the sample of the first of them */
	uint32_t sample;                   /* index + 1 of the only point; 0: there are several */
	uint32_t parent;                   /* index; 0 for the root */
	uint32_t depth;                    /* 0: the root */
	uint32_t number, of;               /* number among the siblings, from 1, and their count */
	uint32_t child_count;
	uint32_t merged; /* number of insignificant nodes that this stands for; 0: a real node */
	bool is_significant; /* false: it is the root, or a node below is significant */
};

/* The nodes to show, each followed by its children; the root is the first. */
struct allo_dhat_tree {
	ALLO_VEC(struct allo_dhat_node) nodes;
	struct allo_pp_columns columns;
	const struct allo_pp_sort *sort;
	double min_share; /* threshold of significance, in percent of the root */
};

void allo_dhat_tree_done(struct allo_dhat_tree *tree);

/* A node: the one at this depth above a point, which is a sample. */
struct allo_dhat_place {
	uint32_t point, depth;
};

struct allo_dhat_options {
	const struct allo_pp_sort *sort; /* NULL: the default */
	double min_share;                /* percent; negative: the default of the sort */
	/* Nodes whose insignificant children are shown one by one. */
	const struct allo_dhat_place *opened;
	size_t opened_count;
};

/* Fails when the profile lacks a metric that the sort needs. */
bool allo_dhat_tree_from_profile(struct allo_dhat_tree *tree, const struct allo_profile *profile,
				 const struct allo_dhat_options *options, struct allo_error *err);

#endif
