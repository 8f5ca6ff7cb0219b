/*
 * tables.h - the tables of a profile: code_tables.c writes modules, functions and frames,
 * stack_tables.c writes stacks, number_tables.c writes processes, threads, metrics, labels and
 * samples.
 */
#ifndef ALLO_SQL_TABLES_H
#define ALLO_SQL_TABLES_H

#include "sql/store.h"

bool allo_sql_write_code(struct allo_store *store, struct allo_error *err);

/* For `has_rows` see allo_store_add_profile(). */
bool allo_sql_write_stacks(struct allo_store *store, const bool *has_rows, struct allo_error *err);

/* `process` may be NULL. */
bool allo_sql_write_numbers(struct allo_store *store, const struct allo_process_info *process,
			    struct allo_error *err);

/* A row's id, and the entry of the profile that it stands for.  Rows are written in the order of
 * their ids, each once: SQLite keeps them in that order, and Parquet files need no luck. */
struct allo_keyed_row {
	int64_t id;
	uint32_t entry, call;
};

void allo_sql_sort_rows(struct allo_keyed_row *rows, size_t count);

/* Whether a row is the first one with its id.  The rows are sorted. */
static inline bool allo_sql_is_first(const struct allo_keyed_row *rows, size_t i)
{
	return i == 0 || rows[i].id != rows[i - 1].id;
}

#endif
