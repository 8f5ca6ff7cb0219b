/*
 * show_tree.h - a tree of calls as text or JSON.
 */
#ifndef ALLO_CLI_SHOW_TREE_H
#define ALLO_CLI_SHOW_TREE_H

#include "analysis/tree.h"
#include "cli/common.h"

struct allo_show_tree {
	double min_share;   /* percent of the whole; smaller branches are counted together */
	uint64_t max_depth; /* 0: no limit */
	bool is_ascii;
	bool has_margins; /* shows how far off estimates may be, where that is known */
};

bool allo_show_tree_text(const struct allo_show_tree *show, const struct allo_common *common,
			 struct allo_output *out, const struct allo_tree *tree,
			 const struct allo_profile *profile, const struct allo_columns *columns,
			 struct allo_error *err);

bool allo_show_tree_json(const struct allo_show_tree *show, struct allo_output *out,
			 const struct allo_tree *tree, const struct allo_profile *profile,
			 const struct allo_columns *columns, struct allo_error *err);

#endif
