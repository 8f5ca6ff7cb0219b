/*
 * show_diff.h - a comparison of two profiles as a table or JSON.
 */
#ifndef ALLO_CLI_SHOW_DIFF_H
#define ALLO_CLI_SHOW_DIFF_H

#include "analysis/top.h"
#include "cli/common.h"

/* What can have become of a row; NULL ends. */
extern const char *const allo_diff_changes[];

struct allo_show_diff {
	uint64_t count; /* of rows; 0: all */
	unsigned only;  /* bits by allo_diff_changes; 0: all */
	bool is_normalized;
};

/* `top` is sorted by change. */
bool allo_show_diff_text(const struct allo_show_diff *show, const struct allo_common *common,
			 struct allo_output *out, const struct allo_top *top,
			 const struct allo_profile *profile, const struct allo_columns *columns,
			 struct allo_error *err);

void allo_show_diff_json(const struct allo_show_diff *show, struct allo_output *out,
			 const struct allo_top *top, const struct allo_profile *profile,
			 const struct allo_columns *columns);

#endif
