/*
 * show_list.h - source lines with what they hold, as `allo list` prints them.
 */
#ifndef ALLO_CLI_SHOW_LIST_H
#define ALLO_CLI_SHOW_LIST_H

#include "analysis/listing.h"
#include "cli/figures.h"
#include "cli/source_files.h"

struct allo_show_list {
	const struct allo_common *common;
	uint64_t count, context; /* functions, 0 for all; lines around those that hold anything */
	const char *pattern;
	const struct allo_listing *listing;
	const struct allo_profile *profile;
	struct allo_figures figures;
	struct allo_source_places places;
	int64_t recorded_ns; /* when what was compiled ran, since 1970; 0: not known */

	/* What was found on the way. */
	size_t missing, changed, short_of, large; /* files; short_of: lines beyond their ends */
	struct allo_text example;                 /* of a path that was not found */

	/* Private. */
	uint32_t *file_of; /* by string: index in files + 1; 0: not looked for yet */
	ALLO_VEC(struct allo_source_file) files;
	ALLO_VEC(char) text; /* a line without tabs */
};

void allo_show_list_done(struct allo_show_list *show);

/* Looks for the sources and prints. */
bool allo_show_list(struct allo_show_list *show, struct allo_error *err);

#endif
