/*
 * store.h - writes the tables of a profile and, if they are known, of single allocations.
 *
 *     allo_database_open(&store, fd, name)         a SQLite database: sql/database.h
 *     allo_parquet_open(&store, folder)            Parquet files: parquet/parquet_store.h
 *     allo_postgresql_open(&store, out)            a script: sql/postgresql_store.h
 *     allo_store_add_profile(&store, profile)      stacks, names, threads, sums
 *     allo_store_add_markers(&store, ...)          if there are any
 *     allo_store_add_allocations(&store, rows, n)  any number of times, or never
 *     allo_store_finish(&store)
 *
 * sql/schema.h has the tables.  Rows may come from any source: our recordings or other tools'.
 */
#ifndef ALLO_SQL_STORE_H
#define ALLO_SQL_STORE_H

#include "analysis/sites/attribution.h"
#include "profile/allocation.h"
#include "profile/content_ids.h"
#include "sql/schema.h"

/* A value of a row. */
struct allo_sql_cell {
	union {
		int64_t number;
		double real;
		struct allo_text text; /* valid until the row is added */
	};
	bool is_null;
};

#define ALLO_CELL_NUMBER(value) ((struct allo_sql_cell){ .number = (value) })
#define ALLO_CELL_REAL(value)   ((struct allo_sql_cell){ .real = (value) })
#define ALLO_CELL_TEXT(value)   ((struct allo_sql_cell){ .text = (value) })

struct allo_store;

struct allo_store_kind {
	enum allo_sql_place place;
	/* Adds a row; `cells` are those of the columns that are in this place. */
	bool (*add_row)(struct allo_store *store, enum allo_sql_table table,
			const struct allo_sql_cell *cells, struct allo_error *err);
	/* Adds rows of the table `allocation`, the last table to be filled. */
	bool (*add_allocations)(struct allo_store *store, const struct allo_allocation *rows,
				size_t count, struct allo_error *err);
	bool (*finish)(struct allo_store *store, struct allo_error *err);
	void (*drop)(struct allo_store *store);
};

/* All zeros is closed. */
struct allo_store {
	uint64_t rows; /* number of added allocations */

	/* Private. */
	const struct allo_store_kind *kind;
	void *state;
	const struct allo_profile *profile;
	struct allo_attribution *attribution; /* has learned from the profile */
	struct allo_content_ids ids;
};

/* Adds a profile, whose stacks and threads rows refer to by their ids.  `attribution` chooses the
 * sites; it is new or has learned from the same profile. `process` may be NULL.  `has_rows` marks
 * the stacks that rows will refer to; NULL: only stacks with samples. */
bool allo_store_add_profile(struct allo_store *store, const struct allo_profile *profile,
			    struct allo_attribution *attribution,
			    const struct allo_process_info *process, const bool *has_rows,
			    struct allo_error *err);

bool allo_store_add_markers(struct allo_store *store, const struct allo_marker *markers,
			    size_t count, struct allo_error *err);

/* Adds rows in any order, which stays.  Nothing else can be added after rows. */
bool allo_store_add_allocations(struct allo_store *store, const struct allo_allocation *rows,
				size_t count, struct allo_error *err);

/* Adds a row of the table `meta`. */
bool allo_store_add_meta(struct allo_store *store, const char *key, struct allo_text value,
			 struct allo_error *err);

/* Writes everything. */
bool allo_store_finish(struct allo_store *store, struct allo_error *err);

/* Closes, finished or not. */
void allo_store_drop(struct allo_store *store);

/* A number for a database, saturated to int64. */
static inline int64_t allo_sql_number(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static inline bool allo_store_add_row(struct allo_store *store, enum allo_sql_table table,
				      const struct allo_sql_cell *cells, struct allo_error *err)
{
	return store->kind->add_row(store, table, cells, err);
}

#endif
