/* write_sqlite.c - the table row of SQLite databases, which src/sql writes. */
#include "writers/writer.h"

const struct allo_writer allo_write_sqlite = {
	.name = "sqlite",
	.title = "a SQLite database, for queries of your own",
	.about = "Tables of modules, functions, frames, stacks, threads, metrics and samples "
		 "and, from a recording, one row for each allocation with its lifetime. The "
		 "ids of frames and stacks depend only on their content, so they are equal in "
		 "all databases. The views allocations and backtraces have the columns of "
		 "rheaper's tables. 'allo sql' queries such a database, or any other file as "
		 "if it were one; doc/sql.md describes the tables.",
	.endings = ".db .sqlite .sqlite3",
	.marks = { { "SQLite format 3", NULL } },
	.holds = ALLO_HOLDS_METRICS | ALLO_HOLDS_MODULES | ALLO_HOLDS_BUILD_IDS |
		 ALLO_HOLDS_ADDRESSES | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES | ALLO_HOLDS_COLUMNS |
		 ALLO_HOLDS_INLINES | ALLO_HOLDS_LABELS | ALLO_HOLDS_TIMES | ALLO_HOLDS_COMMAND |
		 ALLO_HOLDS_COMMENTS | ALLO_HOLDS_PERIOD | ALLO_HOLDS_NEGATIVE,
	.is_binary = true,
	.takes_rows = true,
};
