/*
 * tables.h - the tables of a profile: code_tables.c writes modules, functions, frames and stacks,
 * number_tables.c writes processes, threads, metrics, labels and samples.
 */
#ifndef ALLO_SQL_TABLES_H
#define ALLO_SQL_TABLES_H

#include "analysis/attribution.h"
#include "profile/content_ids.h"
#include "sql/database.h"
#include "sql/sqlite_calls.h"

struct allo_sql_tables {
	sqlite3 *db;
	const char *name;
	const struct allo_profile *profile;
	struct allo_attribution *attribution; /* has learned from the profile */
	struct allo_content_ids ids;
};

/* For `has_rows` see allo_database_add_profile(). */
bool allo_sql_write_code(const struct allo_sql_tables *tables, const bool *has_rows,
			 struct allo_error *err);

/* `process` may be NULL. */
bool allo_sql_write_numbers(const struct allo_sql_tables *tables,
			    const struct allo_process_info *process, struct allo_error *err);

bool allo_sql_write_markers(const struct allo_sql_tables *tables, const struct allo_marker *markers,
			    size_t count, struct allo_error *err);

/* Runs a statement with bound parameters and resets it. */
bool allo_sql_insert(const struct allo_sql_tables *tables, sqlite3_stmt *statement,
		     struct allo_error *err);

static inline sqlite3_stmt *allo_sql_prepare(const struct allo_sql_tables *tables, const char *sql,
					     struct allo_error *err)
{
	return allo_sqlite_prepare(tables->db, tables->name, sql, err);
}

#endif
