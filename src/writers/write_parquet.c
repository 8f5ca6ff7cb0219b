/* write_parquet.c - the table row of Parquet files, which src/parquet writes. */
#include "writers/writer.h"

const struct allo_writer allo_write_parquet = {
	.name = "parquet",
	.title = "a folder of Parquet files, for DuckDB, ClickHouse, Spark and pandas",
	.about =
		"The tables of the format sqlite, one file each: 8 to 36 times smaller, and queries "
		"take a tenth of the time. The folder also has duckdb.sql, with views for "
		"'duckdb -init', and clickhouse.sql, with tables and insert commands. Folders "
		"named run=NAME beside each other hold many runs, which the duckdb.sql next to "
		"them reads as one. doc/formats/parquet.md describes the files.",
	.endings = ".parquet run=*",
	.marks = { { "PAR1", NULL } },
	.holds = ALLO_HOLDS_METRICS | ALLO_HOLDS_MODULES | ALLO_HOLDS_BUILD_IDS |
		 ALLO_HOLDS_ADDRESSES | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES | ALLO_HOLDS_COLUMNS |
		 ALLO_HOLDS_INLINES | ALLO_HOLDS_LABELS | ALLO_HOLDS_TIMES | ALLO_HOLDS_COMMAND |
		 ALLO_HOLDS_COMMENTS | ALLO_HOLDS_PERIOD | ALLO_HOLDS_NEGATIVE,
	.is_binary = true,
	.spells_stacks = true,
	.takes_rows = true,
	.is_folder = true,
};
