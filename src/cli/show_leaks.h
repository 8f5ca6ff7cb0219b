/*
 * show_leaks.h - leaks with their stacks, as `allo leaks` prints them.
 */
#ifndef ALLO_CLI_SHOW_LEAKS_H
#define ALLO_CLI_SHOW_LEAKS_H

#include "cli/figures.h"
#include "cli/read_leaks.h"

struct allo_show_leaks {
	const struct allo_common *common;
	const struct allo_leak_files *files;
	const struct allo_leaks *leaks;
	struct allo_figures figures;
	size_t count; /* of leaks to show */
	size_t depth; /* of their stacks; 0: all frames */
};

bool allo_show_leaks_text(const struct allo_show_leaks *show, struct allo_output *out,
			  struct allo_error *err);
bool allo_show_leaks_csv(const struct allo_show_leaks *show, struct allo_output *out,
			 struct allo_error *err);
void allo_show_leaks_json(const struct allo_show_leaks *show, struct allo_output *out);

#endif
