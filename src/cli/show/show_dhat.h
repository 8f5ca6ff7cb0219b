/*
 * show_dhat.h - program points as DHAT's own viewer shows them, as text or JSON.
 */
#ifndef ALLO_CLI_SHOW_DHAT_H
#define ALLO_CLI_SHOW_DHAT_H

#include "analysis/dhat_tree.h"
#include "cli/common.h"

struct allo_show_dhat {
	uint64_t max_depth; /* 0: no limit */
	bool is_ascii;
	bool hides_max; /* points were added up, and maxima cannot be */
};

bool allo_show_dhat_text(const struct allo_show_dhat *show, const struct allo_common *common,
			 struct allo_output *out, const struct allo_dhat_tree *tree,
			 const struct allo_profile *profile, struct allo_error *err);

/* The members of the JSON object. */
void allo_show_dhat_fields(const struct allo_show_dhat *show, struct allo_report *report,
			   const struct allo_dhat_tree *tree, const struct allo_profile *profile);

#endif
