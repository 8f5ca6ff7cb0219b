/*
 * massif_tree.h - the tree of callers of one of massif's snapshots.
 *
 *     n2: 1112576 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *      n0: 1048576 0x1093F7: main (demo.c:92)
 *      n1: 64000 0x1091BE: make_node (demo.c:14)
 *       n0: 64000 0x1091E8: build_list (demo.c:24)
 *
 * A line says how many callers follow, how many bytes, and what is there; one space more in front
 * is one caller further out.
 */
#ifndef ALLO_READERS_MASSIF_TREE_H
#define ALLO_READERS_MASSIF_TREE_H

#include "base/input.h"
#include "profile/profile.h"

/* Stands for callers that massif has left out. */
#define ALLO_MASSIF_REST "[below massif's threshold]"

struct allo_massif_node {
	uint64_t bytes;
	uint64_t named;       /* bytes of those of its callers that are there */
	uint32_t parent;      /* an index of nodes; the root's is its own, 0 */
	uint32_t depth;       /* frames: 0 for the root */
	allo_string_id label; /* of the profile that keeps labels */
	bool is_last;         /* massif knows no callers */
};

/* All zeros is empty. */
struct allo_massif_tree {
	ALLO_VEC(struct allo_massif_node) nodes; /* parents come first; the root is nodes.at[0] */
};

void allo_massif_tree_done(struct allo_massif_tree *tree);

/* Reads the tree that comes next; what was in `tree` is forgotten.  Labels are kept as strings of
 * `labels`; those that are no frames are noted in `notes`. */
bool allo_massif_tree_read(struct allo_massif_tree *tree, struct allo_input *in,
			   struct allo_profile *labels, struct allo_notes *notes,
			   struct allo_error *err);

/* Bytes that belong to a node itself, as no caller that is there has them. */
static inline uint64_t allo_massif_node_rest(const struct allo_massif_node *node)
{
	return node->bytes - node->named;
}

#endif
