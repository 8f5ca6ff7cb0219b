/*
 * schema.h - the tables of a database and their columns, for SQLite and for other engines.
 *
 * doc/sql.md describes them.  Ids of modules, functions, frames and stacks are made of what they
 * stand for and are the same in every database.  Row 0 of these four stands for what is not known,
 * so that joins lose nothing.
 */
#ifndef ALLO_SQL_SCHEMA_H
#define ALLO_SQL_SCHEMA_H

#include "base/text.h"

enum allo_sql_table {
	ALLO_TABLE_META,
	ALLO_TABLE_PROCESS,
	ALLO_TABLE_MODULE,
	ALLO_TABLE_FUNCTION,
	ALLO_TABLE_FRAME,
	ALLO_TABLE_STACK,
	ALLO_TABLE_STACK_FRAME,
	ALLO_TABLE_THREAD,
	ALLO_TABLE_METRIC,
	ALLO_TABLE_LABEL,
	ALLO_TABLE_SAMPLE,
	ALLO_TABLE_MARKER,
	ALLO_TABLE_ALLOCATION,
	ALLO_TABLES,
};

enum allo_sql_type {
	ALLO_COLUMN_NUMBER, /* 64 bits */
	ALLO_COLUMN_SMALL,  /* fits 32 bits */
	ALLO_COLUMN_REAL,
	ALLO_COLUMN_WEIGHT, /* a real; SQLite stores whole ones as integers, for exact sums */
	ALLO_COLUMN_TEXT,
};

/* The stores that have a column: SQLite, or Parquet and PostgreSQL. */
enum allo_sql_place {
	ALLO_IN_SQLITE = 1,
	ALLO_IN_ENGINES = 2,
};

struct allo_sql_column {
	const char *name;
	enum allo_sql_type type;
	unsigned only_in; /* an enum allo_sql_place; 0: everywhere */
	bool is_key;
	bool may_be_null;
	bool is_steady; /* neighbours differ little, as times do: Parquet stores differences */
};

enum { ALLO_SQL_COLUMNS = 14 }; /* at most */

struct allo_sql_layout {
	const char *name;
	unsigned only_in;                                     /* as for a column */
	struct allo_sql_column columns[ALLO_SQL_COLUMNS + 1]; /* NULL ends */
	bool is_code; /* equal ids in several databases stand for the same */
};

extern const struct allo_sql_layout allo_sql_tables[ALLO_TABLES];

static inline bool allo_is_in(unsigned only_in, enum allo_sql_place place)
{
	return only_in == 0 || only_in == (unsigned)place;
}

/* The statement that makes a table in SQLite, in `out` of ALLO_SQL_CREATE_MAX bytes. */
enum { ALLO_SQL_CREATE_MAX = 1024 };
void allo_sql_create_table(const struct allo_sql_layout *table, char out[ALLO_SQL_CREATE_MAX]);

#endif
