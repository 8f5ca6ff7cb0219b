/*
 * live_group.h - 'allo live %NAME' of several processes, such as the workers of a server: a row for
 * each of them, and one table of the sites of all.
 */
#ifndef ALLO_CLI_LIVE_GROUP_H
#define ALLO_CLI_LIVE_GROUP_H

#include "cli/live/live_page.h"

struct allo_live_group_options {
	const struct allo_common *common;
	uint64_t interval_ns;
	size_t max_rows;
	enum allo_by by;
	enum allo_live_sort sort;
	bool once;
};

/* Prints a page after each interval until all processes have ended, or one page. */
bool allo_live_group_print(const struct allo_live_group_options *options,
			   const struct allo_recorded_processes *list, struct allo_error *err);

#endif
