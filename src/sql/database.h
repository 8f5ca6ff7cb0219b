/*
 * database.h - writes a SQLite database of a profile and, if they are known, of single allocations.
 *
 *     allo_database_create(&db, fd, name)       in an empty file, which may have no name
 *     allo_database_add_profile(&db, profile)   stacks, names, threads, sums
 *     allo_database_add_markers(&db, ...)       if there are any
 *     allo_database_add_rows(&db, rows, count)  any number of times, or never
 *     allo_database_finish(&db)
 *
 * doc/sql.md describes the tables.  Rows may come from any source: our recordings or other tools'.
 */
#ifndef ALLO_SQL_DATABASE_H
#define ALLO_SQL_DATABASE_H

#include "analysis/attribution.h"
#include "profile/allocation.h"

/* Identify our databases: "allo" as a number, and the version of the tables. */
#define ALLO_SQL_APPLICATION "1634495599"
#define ALLO_SQL_VERSION     "3"

struct allo_sql_state;

/* All zeros is closed. */
struct allo_database {
	struct allo_sql_state *state; /* private */
	uint64_t rows;                /* number of added rows */
};

/* Starts a database in an empty file, which is open for reading and writing and must stay open.
 * `name` stands for it in messages. */
bool allo_database_create(struct allo_database *db, int fd, const char *name,
			  struct allo_error *err);

/* Adds a profile, which must not change until the end, because rows refer to its stacks and
 * threads.  `attribution` chooses the sites; it is new or has learned from the same profile.
 * `process` may be NULL.  `has_rows` marks the stacks that rows will refer to; NULL: only stacks
 * with samples. */
bool allo_database_add_profile(struct allo_database *db, const struct allo_profile *profile,
			       struct allo_attribution *attribution,
			       const struct allo_process_info *process, const bool *has_rows,
			       struct allo_error *err);

bool allo_database_add_markers(const struct allo_database *db, const struct allo_marker *markers,
			       size_t count, struct allo_error *err);

/* Adds rows in any order, which stays.  Nothing else can be added after rows. */
bool allo_database_add_rows(struct allo_database *db, const struct allo_allocation *rows,
			    size_t count, struct allo_error *err);

/* Adds a row of the table `meta`. */
bool allo_database_add_meta(const struct allo_database *db, const char *key, struct allo_text value,
			    struct allo_error *err);

/* Writes everything to the file. */
bool allo_database_finish(struct allo_database *db, struct allo_error *err);

/* Closes, finished or not. */
void allo_database_drop(struct allo_database *db);

#endif
