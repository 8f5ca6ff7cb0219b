/*
 * make_database.h - a database of what was read, with single allocations where a file has them.
 */
#ifndef ALLO_CLI_MAKE_DATABASE_H
#define ALLO_CLI_MAKE_DATABASE_H

#include "cli/common.h"
#include "sql/database.h"

struct allo_making {
	/* In. */
	const struct allo_common *common;
	char **files;                         /* NULL ends */
	const struct allo_input_watch *watch; /* may be NULL */
	/* Changes the profile that was read, before it is written; may be NULL. */
	bool (*change)(void *context, struct allo_profile *profile, struct allo_error *err);
	void *context;
	/* Stacks or numbers are not those that were read: single allocations have no place. */
	bool is_selective;
	const char *meta_key, *meta_value; /* a line for the table `meta`; key NULL: none */

	/* Out. */
	uint64_t rows;
	bool has_rows; /* the file could have some; none were allocated if there are none */
};

/* Makes a database in an empty file, from an empty profile.  `name` stands for the file in
 * messages. */
bool allo_make_database(struct allo_making *making, struct allo_profile *profile, int fd,
			const char *name, struct allo_error *err);

#endif
