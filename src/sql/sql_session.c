/* sql_session.c - opens databases, runs statements, explains errors. */
#include "sql/sql_session.h"

#include "base/assert.h"
#include "base/defer.h"
#include "sql/database.h"
#include "sql/sqlite_calls.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Virtual machine instructions between two looks at the clock; each takes tens of nanoseconds. */
enum { STEPS_BETWEEN_LOOKS = 100000 };

/* Bytes of a value or a statement in a confined session. */
enum { CONFINED_VALUE_MAX = 8 << 20 };

/* The connection that SIGINT stops; there is one at a time. */
static sqlite3 *volatile running;
static volatile sig_atomic_t was_interrupted;

static void interrupt(int signal)
{
	(void)signal;
	was_interrupted = 1;
	if (running)
		sqlite3_interrupt(running);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int look_at_clock(void *context)
{
	const struct allo_sql_session *session = context;

	return session->deadline_ns > 0 && now_ns() > session->deadline_ns;
}

/* Opening. */

static int64_t number_of(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	int64_t number = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

static bool check_ours(struct allo_sql_session *session, struct allo_error *err)
{
	struct allo_pos pos = { .file = session->name };
	int64_t application = number_of(session->db, "pragma application_id");
	int64_t version = number_of(session->db, "pragma user_version");

	if (application < 0)
		return allo_sqlite_fail(session->db, session->name, err);
	if (application != atoll(ALLO_SQL_APPLICATION)) {
		allo_fail(err, ALLO_FORMAT, pos, "is a SQLite database that allo did not make");
		return allo_hint(err,
				 "sqlite3 asks any; 'allo convert FILE -o FILE.db' makes ours");
	}
	if (version != atoll(ALLO_SQL_VERSION)) {
		allo_fail(err, ALLO_FORMAT, pos, "has tables of version %lld; this allo knows %s",
			  (long long)version, ALLO_SQL_VERSION);
		return allo_hint(err, "make it again: 'allo convert FILE -o FILE.db'");
	}
	return true;
}

extern const char allo_session_sql[];

static bool prepare_connection(struct allo_sql_session *session, struct allo_error *err)
{
	/* Names in code are case-sensitive. */
	sqlite3_exec(session->db, "pragma case_sensitive_like = on", NULL, NULL, NULL);
	sqlite3_progress_handler(session->db, STEPS_BETWEEN_LOOKS, look_at_clock, session);
	/* A database that is written shows its tables, since views cannot be changed. */
	if (session->may_write)
		return true;
	return allo_sqlite_exec(session->db, session->name, "pragma temp_store = memory", err) &&
	       allo_sqlite_exec(session->db, session->name, allo_session_sql, err);
}

bool allo_sql_session_open(struct allo_sql_session *session, const char *path,
			   struct allo_error *err)
{
	int flags = SQLITE_OPEN_NOMUTEX |
		    (session->may_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);

	session->name = path;
	if (sqlite3_open_v2(path, &session->db, flags, NULL) != SQLITE_OK)
		return session->db ? allo_sqlite_fail(session->db, path, err)
				   : allo_fail_memory(err);
	return check_ours(session, err) && prepare_connection(session, err);
}

bool allo_sql_session_open_fd(struct allo_sql_session *session, int fd, struct allo_error *err)
{
	return allo_sqlite_open_fd(&session->db, fd, false, err) && check_ours(session, err) &&
	       prepare_connection(session, err);
}

/* Confinement. */

/* They list columns and indexes; others change the connection or name files. */
static bool is_harmless_pragma(const char *name)
{
	static const char *const harmless[] = { "table_info", "table_xinfo", "table_list",
						"index_list", "index_info",  "index_xinfo" };

	for (size_t i = 0; name && i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		if (strcasecmp(name, harmless[i]) == 0)
			return true;
	}
	return false;
}

/* SQLite asks this about each action of a statement while it compiles the statement.  `first` and
 * `second` are the action's arguments, such as a pragma's or a function's name. */
static int permit(void *context, int action, const char *first, const char *second,
		  const char *database, const char *view)
{
	(void)context;
	(void)database;
	(void)view;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return second && strcasecmp(second, "load_extension") == 0 ? SQLITE_DENY
									   : SQLITE_OK;
	case SQLITE_PRAGMA:
		return is_harmless_pragma(first) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

bool allo_sql_session_confine(struct allo_sql_session *session, struct allo_error *err)
{
	sqlite3 *db = session->db;

	session->is_confined = true;
	/* SQLite makes this table at its first use, which looks like a change of the schema. */
	number_of(db, "select count(*) from pragma_table_info('meta')");
	/* A file's views may be hostile, too: they call no function that could do harm. */
	if (sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK ||
	    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
	    sqlite3_set_authorizer(db, permit, NULL) != SQLITE_OK)
		return allo_sqlite_fail(db, session->name, err);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	/* The longest names have 100 KB; a query could make values of a gigabyte. */
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, CONFINED_VALUE_MAX);
	return true;
}

void allo_sql_session_close(struct allo_sql_session *session)
{
	sqlite3_close(session->db);
	*session = (struct allo_sql_session){ 0 };
}

bool allo_sql_session_meta(struct allo_sql_session *session, const char *key, char *out,
			   size_t room)
{
	ALLO_DEFER(allo_sqlite_finalize) sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(session->db, "select value from meta where key = ?", -1, &statement,
			       NULL) != SQLITE_OK ||
	    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_step(statement) != SQLITE_ROW)
		return false;
	snprintf(out, room, "%s", (const char *)sqlite3_column_text(statement, 0));
	return true;
}

/* Errors. */

static struct allo_pos place_of(const char *sql, size_t offset, const char *from)
{
	struct allo_pos pos = { .file = from, .line = 1, .byte = 1 };

	for (size_t i = 0; i < offset && sql[i]; i++) {
		pos.line += sql[i] == '\n';
		pos.byte = sql[i] == '\n' ? 1 : pos.byte + 1;
	}
	return pos;
}

/* The place of an error without a position: the unknown name, or the end of incomplete input. */
static int find_name(const char *message, const char *sql)
{
	const char *name = strstr(message, ": "), *at;

	if (strcmp(message, "incomplete input") == 0)
		return (int)strlen(sql);
	at = name && name[2] ? strcasestr(sql, name + 2) : NULL;
	return at ? (int)(at - sql) : -1;
}

static void hint_tables(struct allo_sql_session *session, struct allo_error *err)
{
	ALLO_DEFER(allo_sqlite_finalize) sqlite3_stmt *statement = NULL;
	char names[180] = "";
	size_t used = 0;

	if (sqlite3_prepare_v2(session->db,
			       "select name from sqlite_schema where type in ('table', 'view') "
			       "order by type, name",
			       -1, &statement, NULL) != SQLITE_OK)
		return;
	while (used < sizeof(names) && sqlite3_step(statement) == SQLITE_ROW)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used ? ", " : "",
					 (const char *)sqlite3_column_text(statement, 0));
	allo_hint(err, "there are %s", names);
}

/* Names in the first column of a query with ?1, the name of a column, and ?2, a statement;
 * separated by commas, as far as there is room. */
static void list_names(struct allo_sql_session *session, const char *query, struct allo_text name,
		       const char *sql, char *out, size_t room)
{
	ALLO_DEFER(allo_sqlite_finalize) sqlite3_stmt *statement = NULL;
	size_t used = 0;

	out[0] = '\0';
	if (sqlite3_prepare_v2(session->db, query, -1, &statement, NULL) != SQLITE_OK ||
	    sqlite3_bind_text(statement, 1, name.data, (int)name.len, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_bind_text(statement, 2, sql, -1, SQLITE_STATIC) != SQLITE_OK)
		return;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		const char *item = (const char *)sqlite3_column_text(statement, 0);
		const char *more = used + strlen(item) + 8 < room ? item : "...";

		used += (size_t)snprintf(out + used, room - used, "%s%s", used ? ", " : "", more);
		if (more != item)
			return;
	}
}

/* The tables that have the unknown column; else the columns of the query's first table. */
static void hint_columns(struct allo_sql_session *session, const char *message, const char *sql,
			 struct allo_error *err)
{
	static const char with_column[] =
		"select distinct t.name from sqlite_schema t join pragma_table_info(t.name) c "
		"where t.type in ('table', 'view') and c.name = ?1 collate nocase and ?2 <> '' "
		"order by 1";
	static const char of_query[] =
		"select c.name from (select name from sqlite_schema where type in ('table', "
		"'view') and instr(lower(?2), 'from ' || name) order by length(name) desc limit 1) "
		"t join pragma_table_info(t.name) c "
		/* There is no room for all; a slip is rarely in the first letter. */
		"order by substr(c.name, 1, 1) <> substr(?1, 1, 1), c.cid";
	struct allo_text name = allo_text_of(message), before;
	char names[120];

	allo_text_cut(name, ':', &before, &name);
	name = allo_text_trim(name);
	allo_text_cut_last(name, '.', &before, &name);
	list_names(session, with_column, name, sql, names, sizeof(names));
	if (names[0]) {
		allo_hint(err, "'%.*s' is a column of %s", ALLO_TEXT_ARG(name), names);
		return;
	}
	list_names(session, of_query, name, sql, names, sizeof(names));
	if (names[0])
		allo_hint(err, "the columns are %s; '.schema' shows all", names);
	else
		allo_hint(err, "'.schema' in place of a query shows all columns");
}

/* A statement that the session does not allow. */
static bool fail_access(const struct allo_sql_session *session, const char *text, const char *sql,
			const char *from, struct allo_error *err)
{
	while (allo_is_space(*sql))
		sql++;
	if (session->is_confined) {
		allo_fail(err, ALLO_USAGE, place_of(text, (size_t)(sql - text), from),
			  "only queries that read this file's tables are allowed here");
		return allo_hint(err, "'allo sql FILE' in a terminal runs other statements");
	}
	allo_fail(err, ALLO_USAGE, place_of(text, (size_t)(sql - text), from),
		  "this would change a database, which is only read");
	return allo_hint(err, "--write allows it for a database that 'allo convert' has made");
}

/* `text` is all, `sql` the statement that failed. */
static bool fail_sql(struct allo_sql_session *session, const char *text, const char *sql,
		     const char *from, struct allo_error *err)
{
	int at = sqlite3_error_offset(session->db), code = sqlite3_errcode(session->db) & 0xff;
	struct allo_pos pos = { .file = from };
	char message[sizeof(err->message)];

	/* The next query, for a hint, frees SQLite's text. */
	snprintf(message, sizeof(message), "%s", sqlite3_errmsg(session->db));
	if (code == SQLITE_NOMEM)
		return allo_fail_memory(err);
	/* Such as "cannot modify allocation because it is a view": with --write it is a table. */
	if (code == SQLITE_AUTH ||
	    (!session->may_write && strncmp(message, "cannot modify ", 14) == 0))
		return fail_access(session, text, sql, from, err);
	if (code == SQLITE_INTERRUPT && was_interrupted) {
		session->is_interrupted = true;
		return false;
	}
	if (code == SQLITE_INTERRUPT) {
		allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE,
			  "the query took longer than --timeout allows, and was stopped");
		return allo_hint(err, strstr(sql, "allocation")
					      ? "sums of each stack are in 'sample': no need to "
						"add up 'allocation'"
					      : "a longer --timeout gives it more time");
	}
	if (at < 0)
		at = find_name(message, sql);
	if (at >= 0)
		pos = place_of(text, (size_t)(sql - text) + (size_t)at, from);
	allo_fail(err, ALLO_FORMAT, pos, "%s", message);
	if (strncmp(message, "no such table", 13) == 0)
		hint_tables(session, err);
	else if (strncmp(message, "no such column", 14) == 0)
		hint_columns(session, message, sql, err);
	return false;
}

/* Asking. */

static bool run_statement(sqlite3_stmt *statement, const struct allo_sql_sink *sink,
			  struct allo_error *err, int *code)
{
	bool has_columns = sqlite3_column_count(statement) > 0;

	*code = SQLITE_OK;
	if (has_columns && !sink->begin(sink->context, statement, err))
		return false;
	while ((*code = sqlite3_step(statement)) == SQLITE_ROW) {
		if (has_columns && !sink->row(sink->context, statement, err))
			return false;
	}
	if (*code != SQLITE_DONE)
		return false;
	return !has_columns || sink->end(sink->context, err);
}

static bool run_statements(struct allo_sql_session *session, const char *text, const char *from,
			   const struct allo_sql_sink *sink, struct allo_error *err)
{
	const char *sql = text, *next = text;

	for (; *sql; sql = next) {
		ALLO_DEFER(allo_sqlite_finalize) sqlite3_stmt *statement = NULL;
		int code;

		if (sqlite3_prepare_v2(session->db, sql, -1, &statement, &next) != SQLITE_OK)
			return fail_sql(session, text, sql, from, err);
		if (!statement)
			continue;
		if (!session->may_write && !sqlite3_stmt_readonly(statement))
			return fail_access(session, text, sql, from, err);
		if (!run_statement(statement, sink, err, &code))
			return code == SQLITE_ROW || code == SQLITE_DONE || code == SQLITE_OK
				       ? false
				       : fail_sql(session, text, sql, from, err);
	}
	return true;
}

bool allo_sql_query(struct allo_sql_session *session, const char *sql, const char *from,
		    const struct allo_sql_sink *sink, struct allo_error *err)
{
	struct sigaction stop = { .sa_handler = interrupt }, before;
	bool ok;

	ALLO_ASSERT(session->db && !running);
	was_interrupted = 0;
	session->is_interrupted = false;
	/* Ignore a timeout beyond the range of the clock. */
	if (session->timeout_ns == 0 ||
	    __builtin_add_overflow(now_ns(), session->timeout_ns, &session->deadline_ns))
		session->deadline_ns = 0;
	running = session->db;
	sigaction(SIGINT, &stop, &before);
	/* If SIGINT was ignored when we started, it stays ignored. */
	if (before.sa_handler == SIG_IGN)
		sigaction(SIGINT, &before, NULL);
	ok = run_statements(session, sql, from, sink, err);
	sigaction(SIGINT, &before, NULL);
	running = NULL;
	return ok;
}
