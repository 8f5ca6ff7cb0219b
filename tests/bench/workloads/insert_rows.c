/*
 * insert_rows.c - how long it takes SQLite to take rows, one prepared statement each.
 *
 *     insert_rows dump FROM.db ROWS      the rows of the table allocation as they lie in memory
 *     insert_rows load ROWS TO.db        the same into a new database
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COLUMNS = 11 };

/* In place of null. */
static const int64_t none = INT64_MIN;

static const char columns[] = "stack, size, alloc_ns, free_ns, alloc_thread, free_thread, address, "
			      "is_temporary, is_resized_on, first_ns, first_stack";

static void must(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "insert_rows: %s\n", what);
		exit(1);
	}
}

static void run(sqlite3 *db, const char *sql)
{
	must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	must(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) ==
		     SQLITE_OK,
	     sqlite3_errmsg(db));
	return statement;
}

static void dump(const char *from, const char *to)
{
	FILE *out = fopen(to, "wb");
	sqlite3_stmt *select;
	char sql[256];
	sqlite3 *db;

	must(out && sqlite3_open(from, &db) == SQLITE_OK, "cannot open");
	snprintf(sql, sizeof(sql), "select %s from allocation", columns);
	select = prepare(db, sql);
	while (sqlite3_step(select) == SQLITE_ROW) {
		for (int i = 0; i < COLUMNS; i++) {
			int64_t value = sqlite3_column_type(select, i) == SQLITE_NULL
						? none
						: sqlite3_column_int64(select, i);

			must(fwrite(&value, sizeof(value), 1, out) == 1, "cannot write");
		}
	}
	sqlite3_finalize(select);
	sqlite3_close(db);
	must(fclose(out) == 0, "cannot write");
}

static void insert(sqlite3 *db, sqlite3_stmt *statement, const int64_t *row)
{
	for (int i = 0; i < COLUMNS; i++) {
		if (row[i] == none)
			sqlite3_bind_null(statement, i + 1);
		else
			sqlite3_bind_int64(statement, i + 1, row[i]);
	}
	must(sqlite3_step(statement) == SQLITE_DONE, sqlite3_errmsg(db));
	sqlite3_reset(statement);
}

static void load(const char *from, const char *to)
{
	int fd = open(from, O_RDONLY);
	sqlite3_stmt *statement;
	const int64_t *rows;
	struct stat st;
	char sql[512];
	sqlite3 *db;

	must(fd >= 0 && fstat(fd, &st) == 0, "cannot open");
	rows = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	must(rows != MAP_FAILED, "cannot map");
	unlink(to);
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	must(sqlite3_open(to, &db) == SQLITE_OK, "cannot open");
	run(db, "pragma journal_mode = off; pragma synchronous = off; pragma locking_mode = "
		"exclusive; pragma cache_size = -65536");
	snprintf(sql, sizeof(sql), "create table allocation(id integer primary key, %s)", columns);
	run(db, sql);
	run(db, "begin");
	snprintf(sql, sizeof(sql),
		 "insert into allocation(%s) values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", columns);
	statement = prepare(db, sql);
	for (size_t i = 0; i < (size_t)st.st_size / sizeof(*rows); i += COLUMNS)
		insert(db, statement, rows + i);
	sqlite3_finalize(statement);
	run(db, "commit");
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	must(argc == 4, "insert_rows dump FROM.db ROWS | load ROWS TO.db");
	if (strcmp(argv[1], "dump") == 0)
		dump(argv[2], argv[3]);
	else
		load(argv[2], argv[3]);
	return 0;
}
