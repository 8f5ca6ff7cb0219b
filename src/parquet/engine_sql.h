/*
 * engine_sql.h - SQL that lets DuckDB and ClickHouse read a folder of Parquet files.
 */
#ifndef ALLO_PARQUET_ENGINE_SQL_H
#define ALLO_PARQUET_ENGINE_SQL_H

#include "base/io/output.h"

enum allo_engine { ALLO_ENGINE_DUCKDB, ALLO_ENGINE_CLICKHOUSE, ALLO_ENGINES };

/* "duckdb.sql", "clickhouse.sql" */
extern const char *const allo_engine_files[ALLO_ENGINES];

/* Writes the SQL for a folder, which need not exist yet. */
bool allo_engine_sql(enum allo_engine engine, const char *folder, struct allo_output *out,
		     struct allo_error *err);

/* Writes DuckDB's SQL for a folder of runs, `parent`/run=NAME/.... */
bool allo_runs_sql(const char *parent, struct allo_output *out, struct allo_error *err);

#endif
