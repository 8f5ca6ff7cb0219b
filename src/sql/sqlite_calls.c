/* sqlite_calls.c - see sqlite_calls.h. */
#include "sql/sqlite_calls.h"

#include "base/defer.h"
#include "base/output.h"
#include "base/utf8.h"

bool allo_sqlite_fail(sqlite3 *db, const char *name, struct allo_error *err)
{
	struct allo_pos pos = { .file = name };

	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_NOMEM:
		return allo_fail_memory(err);
	case SQLITE_FULL:
		allo_fail(err, ALLO_IO, pos, "write: No space left on device");
		return allo_hint(err, "free some space, or write elsewhere");
	default:
		return allo_fail(err, ALLO_IO, pos, "SQLite: %s", sqlite3_errmsg(db));
	}
}

bool allo_sqlite_exec(sqlite3 *db, const char *name, const char *sql, struct allo_error *err)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       allo_sqlite_fail(db, name, err);
}

sqlite3_stmt *allo_sqlite_prepare(sqlite3 *db, const char *name, const char *sql,
				  struct allo_error *err)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
	    SQLITE_OK)
		allo_sqlite_fail(db, name, err);
	return statement;
}

void allo_sqlite_finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
	*statement = NULL;
}

bool allo_sqlite_bind_text(sqlite3_stmt *statement, int parameter, struct allo_text text)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options plain = { 0 };
	struct allo_error err = { 0 };
	struct allo_text valid;

	if (allo_utf8_is_valid(text) && (text.len == 0 || !memchr(text.data, '\0', text.len)))
		return sqlite3_bind_text64(statement, parameter, text.len ? text.data : "",
					   text.len, SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK;
	if (!allo_output_open_memory(&out, &plain, &err))
		return false;
	/* Many a program takes a NUL for the end. */
	for (size_t i = 0; i < text.len;) {
		size_t part = strnlen(text.data + i, text.len - i);

		allo_output_utf8(&out, (struct allo_text){ text.data + i, part });
		i += part;
		if (i++ < text.len)
			allo_output_string(&out, ALLO_UTF8_REPLACEMENT);
	}
	if (!allo_output_finish(&out, &err))
		return false;
	valid = allo_output_memory(&out);
	return sqlite3_bind_text64(statement, parameter, valid.data, valid.len, SQLITE_TRANSIENT,
				   SQLITE_UTF8) == SQLITE_OK;
}
