/*
 * tables.h - a profile as tables: code_tables.c has modules, functions, frames and stacks,
 * number_tables.c has what is measured.
 */
#ifndef ALLO_SQL_TABLES_H
#define ALLO_SQL_TABLES_H

#include "profile/content_ids.h"
#include "sql/database.h"
#include "sql/sqlite_calls.h"

struct allo_sql_tables {
	sqlite3 *db;
	const char *name;
	const struct allo_profile *profile;
	struct allo_content_ids ids;
};

/* `has_rows` is as in database.h. */
bool allo_sql_write_code(const struct allo_sql_tables *tables, const bool *has_rows,
			 struct allo_error *err);

/* `process` may be NULL. */
bool allo_sql_write_numbers(const struct allo_sql_tables *tables,
			    const struct allo_sql_process *process, struct allo_error *err);

bool allo_sql_write_markers(const struct allo_sql_tables *tables,
			    const struct allo_sql_marker *markers, size_t count,
			    struct allo_error *err);

/* Runs a statement whose parameters are bound, and makes it ready for the next ones. */
bool allo_sql_insert(const struct allo_sql_tables *tables, sqlite3_stmt *statement,
		     struct allo_error *err);

static inline sqlite3_stmt *allo_sql_prepare(const struct allo_sql_tables *tables, const char *sql,
					     struct allo_error *err)
{
	return allo_sqlite_prepare(tables->db, tables->name, sql, err);
}

#endif
