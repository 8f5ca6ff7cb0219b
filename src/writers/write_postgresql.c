/* write_postgresql.c - the table row of scripts for PostgreSQL, which src/sql writes. */
#include "writers/writer.h"

const struct allo_writer allo_write_postgresql = {
	.name = "postgresql",
	.title = "a script for psql that fills a PostgreSQL database",
	.about = "The tables and views of the format parquet: 'allo convert FILE --to postgresql | "
		 "psql -d DATABASE'. The script is one transaction: if a table is there already, "
		 "nothing changes. It has no indexes, since most queries read whole tables.",
	.endings = ".pgsql",
	.marks = { { "-- Tables of Allotrope for PostgreSQL", NULL } },
	.holds = ALLO_HOLDS_METRICS | ALLO_HOLDS_MODULES | ALLO_HOLDS_BUILD_IDS |
		 ALLO_HOLDS_ADDRESSES | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES | ALLO_HOLDS_COLUMNS |
		 ALLO_HOLDS_INLINES | ALLO_HOLDS_LABELS | ALLO_HOLDS_TIMES | ALLO_HOLDS_COMMAND |
		 ALLO_HOLDS_COMMENTS | ALLO_HOLDS_PERIOD | ALLO_HOLDS_NEGATIVE,
	.spells_stacks = true,
	.takes_rows = true,
	.is_script = true,
};
