/*
 * dhat_view.h - what the parts of show_dhat.h have in common: a node being written, line by line.
 */
#ifndef ALLO_CLI_DHAT_VIEW_H
#define ALLO_CLI_DHAT_VIEW_H

#include "cli/show/show_dhat.h"
#include "report/show.h"

struct allo_dhat_view {
	const struct allo_show_dhat *show;
	struct allo_output *out;
	const struct allo_dhat_tree *tree;
	const struct allo_profile *profile;
	struct allo_style style;
	const struct allo_strokes *strokes;
	size_t line_columns; /* where lines of numbers are broken */
	size_t name_columns; /* where lines with names are cut; 0: nowhere */
	bool is_plain, is_estimated;
	ALLO_VEC(bool) goes_on; /* by depth: whether the node there has siblings yet to come */

	/* The node, and the line of it, being written. */
	const struct allo_dhat_node *node;
	size_t column;
	bool is_line_empty;
};

/* Deeper nodes are drawn at this level: their numbers tell where they are. */
enum { ALLO_DHAT_LEVELS = 16 };

/* The strokes of the levels above. */
void allo_dhat_put_strokes(struct allo_dhat_view *v, size_t depth);

/* Starts a line of the node with a label of so many columns. */
void allo_dhat_start_line(struct allo_dhat_view *v, const char *label, size_t columns,
			  bool is_bold);
void allo_dhat_end_line(struct allo_dhat_view *v);

/* "1.22 MiB (48.8%)", "1,341 blocks (5.0%)": one of the node's values. */
void allo_dhat_put_value(struct allo_dhat_view *v, enum allo_pp_field field);

/* "13.4 blocks": any number of what a field counts. */
void allo_dhat_put_number(struct allo_dhat_view *v, double value, enum allo_pp_field field);

/* All lines of numbers. */
void allo_dhat_put_facts(struct allo_dhat_view *v);

#endif
