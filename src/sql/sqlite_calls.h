/*
 * sqlite_calls.h - SQLite with our errors.
 */
#ifndef ALLO_SQL_SQLITE_CALLS_H
#define ALLO_SQL_SQLITE_CALLS_H

#include "base/error.h"
#include "base/text.h"

#include <sqlite3.h>

/* What SQLite has to say about its last failure; `name` is that of the database.  Returns false. */
bool allo_sqlite_fail(sqlite3 *db, const char *name, struct allo_error *err);

/* Runs statements that give no rows. */
bool allo_sqlite_exec(sqlite3 *db, const char *name, const char *sql, struct allo_error *err);

/* NULL at failure. */
sqlite3_stmt *allo_sqlite_prepare(sqlite3 *db, const char *name, const char *sql,
				  struct allo_error *err);

/* Takes a pointer to the statement, for ALLO_DEFER. */
void allo_sqlite_finalize(sqlite3_stmt **statement);

/* A text of a profile as a parameter, counted from 1: what is not UTF-8 is replaced.  The text must
 * stay until the statement has run. */
bool allo_sqlite_bind_text(sqlite3_stmt *statement, int parameter, struct allo_text text);

/* A number that is stored as the largest one there is where it is larger. */
static inline int64_t allo_sqlite_number(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

#endif
