/* database.c - see database.h. */
#include "sql/database.h"

#include "base/defer.h"
#include "sql/file_vfs.h"
#include "sql/row_pages.h"
#include "sql/tables.h"

#include <stdio.h>
#include <stdlib.h>

extern const char allo_schema_sql[], allo_views_sql[];

/* How large pages are trades the size of small databases for the speed of large ones. */
static const char pragmas[] = "pragma page_size = 16384;"
			      "pragma synchronous = off;"
			      "pragma locking_mode = exclusive;"
			      "pragma cache_size = -32768;"
			      "pragma application_id = " ALLO_SQL_APPLICATION ";"
			      "pragma user_version = " ALLO_SQL_VERSION ";"
			      "begin";

struct allo_sql_state {
	struct allo_sql_tables tables; /* .db is NULL once all but the rows is written */
	struct allo_row_pages rows;
};

bool allo_database_create(struct allo_database *db, int fd, const char *name,
			  struct allo_error *err)
{
	struct allo_sql_state *state = calloc(1, sizeof(*state));

	*db = (struct allo_database){ .state = state };
	if (!state)
		return allo_fail_memory(err);
	state->tables.name = name;
	if (!allo_sqlite_open_fd(&state->tables.db, fd, true, err))
		return false;
	state->rows.fd = fd;
	state->rows.name = name;
	return allo_sqlite_exec(state->tables.db, name, pragmas, err) &&
	       allo_sqlite_exec(state->tables.db, name, allo_schema_sql, err);
}

static bool add_meta(const struct allo_database *db, const char *key, const char *value,
		     struct allo_error *err)
{
	return allo_database_add_meta(db, key, allo_text_of(value), err);
}

static bool add_profile_meta(const struct allo_database *db, const struct allo_profile *profile,
			     struct allo_error *err)
{
	const struct allo_meta *meta = &profile->meta;
	char period[24];

	snprintf(period, sizeof(period), "%lld", (long long)meta->period);
	for (size_t i = 0; i < profile->comments.len; i++) {
		char key[32];

		snprintf(key, sizeof(key), "comment %zu", i + 1);
		if (!allo_database_add_meta(
			    db, key, allo_profile_text(profile, profile->comments.at[i]), err))
			return false;
	}
	return add_meta(db, "format", meta->format ? meta->format : "", err) &&
	       add_meta(db, "allo version", ALLO_VERSION, err) &&
	       allo_database_add_meta(db, "producer", allo_profile_text(profile, meta->producer),
				      err) &&
	       add_meta(db, "period", period, err) &&
	       allo_database_add_meta(db, "period unit",
				      allo_profile_text(profile, meta->period_unit), err);
}

bool allo_database_add_profile(struct allo_database *db, const struct allo_profile *profile,
			       const struct allo_sql_process *process, const bool *has_rows,
			       struct allo_error *err)
{
	struct allo_sql_tables *tables = &db->state->tables;

	tables->profile = profile;
	if (!allo_content_ids_init(&tables->ids, profile, err))
		return false;
	db->state->rows.stacks = tables->ids.stacks;
	return allo_sql_write_code(tables, has_rows, err) &&
	       allo_sql_write_numbers(tables, process, err) && add_profile_meta(db, profile, err);
}

bool allo_database_add_markers(const struct allo_database *db,
			       const struct allo_sql_marker *markers, size_t count,
			       struct allo_error *err)
{
	return allo_sql_write_markers(&db->state->tables, markers, count, err);
}

static bool read_number(const struct allo_sql_tables *tables, const char *sql, uint32_t *number,
			struct allo_error *err)
{
	ALLO_DEFER(allo_sqlite_finalize) sqlite3_stmt *select = allo_sql_prepare(tables, sql, err);

	if (!select)
		return false;
	if (sqlite3_step(select) != SQLITE_ROW)
		return allo_sqlite_fail(tables->db, tables->name, err);
	*number = (uint32_t)sqlite3_column_int64(select, 0);
	return true;
}

/* SQLite writes everything but the rows, which come behind it. */
static bool end_tables(struct allo_sql_state *state, struct allo_error *err)
{
	struct allo_sql_tables *tables = &state->tables;
	struct allo_row_pages *rows = &state->rows;

	if (!allo_sqlite_exec(tables->db, tables->name, allo_views_sql, err) ||
	    !allo_sqlite_exec(tables->db, tables->name, "commit", err) ||
	    !read_number(tables, "pragma page_size", &rows->page_size, err) ||
	    !read_number(tables, "pragma page_count", &rows->page_count, err) ||
	    !read_number(tables, "select rootpage from sqlite_schema where name = 'allocation'",
			 &rows->root, err))
		return false;
	sqlite3_close(tables->db);
	tables->db = NULL;
	return allo_row_pages_begin(rows, err);
}

bool allo_database_add_rows(struct allo_database *db, const struct allo_sql_row *rows, size_t count,
			    struct allo_error *err)
{
	struct allo_sql_state *state = db->state;

	if (state->tables.db && !end_tables(state, err))
		return false;
	db->rows += count;
	return allo_row_pages_add(&state->rows, rows, count, err);
}

bool allo_database_add_meta(const struct allo_database *db, const char *key, struct allo_text value,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *insert = allo_sql_prepare(&db->state->tables, "insert into meta values(?, ?)",
						err);

	if (!insert)
		return false;
	if (!allo_sqlite_bind_text(insert, 1, allo_text_of(key)) ||
	    !allo_sqlite_bind_text(insert, 2, value))
		return allo_fail_memory(err);
	return allo_sql_insert(&db->state->tables, insert, err);
}

bool allo_database_finish(struct allo_database *db, struct allo_error *err)
{
	struct allo_sql_state *state = db->state;

	return (!state->tables.db || end_tables(state, err)) &&
	       (db->rows == 0 || allo_row_pages_finish(&state->rows, err));
}

void allo_database_drop(struct allo_database *db)
{
	struct allo_sql_state *state = db->state;

	if (!state)
		return;
	allo_row_pages_done(&state->rows);
	sqlite3_close(state->tables.db);
	allo_content_ids_done(&state->tables.ids);
	free(state);
	*db = (struct allo_database){ 0 };
}
