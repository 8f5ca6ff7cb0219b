/*
 * parquet_store.h - a folder of Parquet files, one for each table, as a store of tables.
 *
 * The folder also has the SQL that DuckDB and ClickHouse need to read it.  doc/formats/parquet.md
 * describes it.
 */
#ifndef ALLO_PARQUET_PARQUET_STORE_H
#define ALLO_PARQUET_PARQUET_STORE_H

#include "base/io/output.h"
#include "sql/store.h"

/* Starts a folder, which appears when the store is finished.  `path` must stay.  See
 * sql/store.h. */
bool allo_parquet_open(struct allo_store *store, const char *path,
		       const struct allo_output_options *options, struct allo_error *err);

/* The folder that a run's folder, PARENT/run=NAME, is in; empty for other folders.  Its duckdb.sql
 * has all runs in it: the store writes it, unless it is there. */
struct allo_text allo_parquet_runs_folder(const char *path);

/* Bytes of all files, once finished. */
uint64_t allo_parquet_size(const struct allo_store *store);

#endif
