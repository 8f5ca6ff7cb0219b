/*
 * make_database.h - a SQLite database of any input, with its individual allocations if it has them.
 *
 * `allo sql` keeps the database of a whole recording in the cache (base/io/cache_file.h), and uses
 * it as long as the recording has not changed and the file is the user's own.  Only the user can
 * read it.  Databases of other inputs have no name.
 */
#ifndef ALLO_ENGINE_MAKE_DATABASE_H
#define ALLO_ENGINE_MAKE_DATABASE_H

#include "analysis/sites/attribution.h"
#include "engine/source.h"
#include "sql/sql_session.h"

struct allo_cached_database {
	/* Set by the caller, and must stay. */
	const struct allo_source_options *source;
	struct allo_attribution *attribution; /* chooses the sites; with its settings only */

	struct allo_sql_session session; /* .may_write and .timeout_ns are set by the caller */
	struct allo_notes notes;         /* about a file that was read just now */

	char *path; /* private from here on */
	int fd;
};

/* The caller sets .fd to -1. */
void allo_cached_database_done(struct allo_cached_database *cached);

/* Opens a database, the one that was made of the file before, or one that is made now. */
bool allo_cached_database_open(struct allo_cached_database *cached, const char *file,
			       struct allo_error *err);

#endif
