/*
 * call_tree.h - a tree of calls in a report.
 */
#ifndef ALLO_REPORT_CALL_TREE_H
#define ALLO_REPORT_CALL_TREE_H

#include "analysis/tree.h"
#include "report/figures.h"

/* The branches to show. */
struct allo_call_tree {
	double min_share;   /* percent of the whole; smaller branches are counted together */
	uint64_t max_depth; /* 0: no limit */
	bool is_ascii;
};

void allo_report_tree(struct allo_report *report, const struct allo_call_tree *show,
		      const struct allo_tree *tree, const struct allo_figures *figures);

#endif
