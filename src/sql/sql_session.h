/*
 * sql_session.h - SQL put to a database: statement by statement, row by row, and not for ever.
 */
#ifndef ALLO_SQL_SQL_SESSION_H
#define ALLO_SQL_SQL_SESSION_H

#include "base/error.h"
#include "base/text.h"

#include <sqlite3.h>

/* Takes what a statement gives.  `begin` and `end` are called for statements that have columns;
 * false stops. */
struct allo_sql_sink {
	bool (*begin)(void *context, sqlite3_stmt *statement, struct allo_error *err);
	bool (*row)(void *context, sqlite3_stmt *statement, struct allo_error *err);
	bool (*end)(void *context, struct allo_error *err);
	void *context;
};

/* All zeros: nothing to close. */
struct allo_sql_session {
	sqlite3 *db;
	const char *name;    /* of the database */
	bool may_write;      /* statements that change it are refused otherwise */
	uint64_t timeout_ns; /* for all statements of a text; 0: none */

	/* Out. */
	bool is_interrupted; /* by SIGINT; that is no failure */

	uint64_t deadline_ns; /* private */
};

/* Opens a database that allo has made, for reading unless `may_write`. */
bool allo_sql_session_open(struct allo_sql_session *session, const char *path,
			   struct allo_error *err);

/* The same in a file that is open and has no name. */
bool allo_sql_session_open_fd(struct allo_sql_session *session, int fd, struct allo_error *err);

void allo_sql_session_close(struct allo_sql_session *session);

/* Runs all statements of a text.  `from` stands for the text in messages.  SIGINT stops it. */
bool allo_sql_query(struct allo_sql_session *session, const char *sql, const char *from,
		    const struct allo_sql_sink *sink, struct allo_error *err);

/* A value of the table `meta`, copied to `out`; false when there is none. */
bool allo_sql_session_meta(struct allo_sql_session *session, const char *key, char *out,
			   size_t room);

#endif
