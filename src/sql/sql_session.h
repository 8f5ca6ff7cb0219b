/*
 * sql_session.h - an open database and the queries on it, with a timeout.
 */
#ifndef ALLO_SQL_SQL_SESSION_H
#define ALLO_SQL_SQL_SESSION_H

#include "base/error.h"
#include "base/text.h"

#include <sqlite3.h>

/* Takes the results of a statement.  `begin` and `end` are called for statements with columns.
 * Returning false stops the query. */
struct allo_sql_sink {
	bool (*begin)(void *context, sqlite3_stmt *statement, struct allo_error *err);
	bool (*row)(void *context, sqlite3_stmt *statement, struct allo_error *err);
	bool (*end)(void *context, struct allo_error *err);
	void *context;
};

/* All zeros is closed. */
struct allo_sql_session {
	sqlite3 *db;
	const char *name;    /* of the database */
	bool may_write;      /* otherwise statements that change the database fail */
	uint64_t timeout_ns; /* for all statements of a query; 0: none */

	/* Out. */
	bool is_interrupted; /* by SIGINT, which is not a failure */
	bool is_confined;

	uint64_t deadline_ns; /* private */
};

/* Opens a database that allo made, read-only unless `may_write`. */
bool allo_sql_session_open(struct allo_sql_session *session, const char *path,
			   struct allo_error *err);

/* The same in an open file, read-only; the caller sets .name. */
bool allo_sql_session_open_fd(struct allo_sql_session *session, int fd, struct allo_error *err);

/* From here on, queries can only read the tables of this database, and no other file: for texts
 * that come from elsewhere, such as a page. */
bool allo_sql_session_confine(struct allo_sql_session *session, struct allo_error *err);

void allo_sql_session_close(struct allo_sql_session *session);

/* Runs all statements of a text.  `from` names the text in messages.  SIGINT stops it. */
bool allo_sql_query(struct allo_sql_session *session, const char *sql, const char *from,
		    const struct allo_sql_sink *sink, struct allo_error *err);

/* Copies a value of the table `meta` to `out`; false if it does not exist. */
bool allo_sql_session_meta(struct allo_sql_session *session, const char *key, char *out,
			   size_t room);

#endif
