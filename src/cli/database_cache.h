/*
 * database_cache.h - the database of any file: the file itself, the one made of it before, or one
 * that is made now.
 *
 * That of a whole recording is kept beside it, as RECORDING.db, and used as long as the recording
 * has not changed.  Others are in a file without a name.
 */
#ifndef ALLO_CLI_DATABASE_CACHE_H
#define ALLO_CLI_DATABASE_CACHE_H

#include "cli/common.h"
#include "sql/sql_session.h"

struct allo_cached_database {
	/* In. */
	const struct allo_common *common;

	struct allo_sql_session session; /* .may_write and .timeout_ns are the caller's to set */
	struct allo_notes notes;         /* what was odd about a file that was read just now */

	char *path; /* private from here on */
	int fd;
};

/* The caller sets .fd to -1. */
void allo_cached_database_done(struct allo_cached_database *cached);

bool allo_cached_database_open(struct allo_cached_database *cached, const char *file,
			       struct allo_error *err);

#endif
