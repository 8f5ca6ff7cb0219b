/*
 * read_leaks.h - reads profiles for what was never freed in them.
 */
#ifndef ALLO_CLI_READ_LEAKS_H
#define ALLO_CLI_READ_LEAKS_H

#include "analysis/filters/suppressions.h"
#include "analysis/leaks.h"
#include "cli/common.h"

/* All zeros is empty. */
struct allo_leak_files {
	struct allo_profile profile;
	struct allo_label_filter labels; /* of the blocks that births are of */
	struct allo_birth_table births;
	struct allo_timeline timeline; /* of a single recording */
	bool has_births; /* only a single recording tells when blocks were allocated */
	struct allo_suppressions suppressions;
};

void allo_leak_files_done(struct allo_leak_files *files);

/* Reads all files (NULL ends) into one profile and names its frames. */
bool allo_leak_files_read(struct allo_leak_files *leaks, const struct allo_common *common,
			  char **files, struct allo_error *err);

/* Reads suppressions from all of these files. */
bool allo_read_suppressions(struct allo_suppressions *suppressions, const struct allo_list *files,
			    struct allo_error *err);

/* Says which suppressions have hidden nothing. */
void allo_tell_unused_suppressions(const struct allo_suppressions *suppressions);

#endif
