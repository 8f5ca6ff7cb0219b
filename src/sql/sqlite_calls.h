/*
 * sqlite_calls.h - calls of SQLite that report our errors, and databases in open files.
 */
#ifndef ALLO_SQL_SQLITE_CALLS_H
#define ALLO_SQL_SQLITE_CALLS_H

#include "base/error.h"
#include "base/text.h"

#include <sqlite3.h>

/* Fails with SQLite's last error; `name` is the name of the database.  Returns false. */
bool allo_sqlite_fail(sqlite3 *db, const char *name, struct allo_error *err);

/* Runs statements without results. */
bool allo_sqlite_exec(sqlite3 *db, const char *name, const char *sql, struct allo_error *err);

/* NULL on failure. */
sqlite3_stmt *allo_sqlite_prepare(sqlite3 *db, const char *name, const char *sql,
				  struct allo_error *err);

/* For ALLO_DEFER. */
void allo_sqlite_finalize(sqlite3_stmt **statement);

/* Binds a text to a parameter, counted from 1, with bytes that are not UTF-8 replaced.  The text
 * must stay valid until the statement has run. */
bool allo_sqlite_bind_text(sqlite3_stmt *statement, int parameter, struct allo_text text);

/*
 * Opens a database in an open file, which may have no name: a database is built in a file that no
 * other process sees until it is complete.  There is one connection and no journal, so nothing is
 * locked.  The descriptor stays the caller's and must stay open.  Without `may_write`, attached
 * files are read-only, too.
 */
bool allo_sqlite_open_fd(sqlite3 **db, int fd, bool may_write, struct allo_error *err);

#endif
