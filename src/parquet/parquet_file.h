/*
 * parquet_file.h - a Parquet file: encoded row groups one after the other, then their description.
 *
 * Without its end a file is damaged to all readers.  https://parquet.apache.org/docs/file-format/
 * describes it.
 */
#ifndef ALLO_PARQUET_PARQUET_FILE_H
#define ALLO_PARQUET_PARQUET_FILE_H

#include "base/io/output.h"
#include "parquet/row_group.h"

/* A text of the file's metadata. */
struct allo_parquet_fact {
	struct allo_text key, value;
};

struct allo_parquet_file {
	struct allo_output *out;
	const struct allo_parquet_column *columns;
	size_t column_count;
	uint64_t rows;

	/* Private. */
	uint64_t size; /* so far, in bytes */
	ALLO_VEC(struct allo_parquet_group) groups;
	ALLO_VEC(struct allo_column_chunk) chunks; /* of all groups; they count from their group */
};

struct allo_parquet_group {
	uint64_t start, rows;
};

void allo_parquet_file_begin(struct allo_parquet_file *file, struct allo_output *out,
			     const struct allo_parquet_column *columns, size_t column_count);

/* Adds an encoded group; a batch that another one continues adds nothing. */
bool allo_parquet_file_add(struct allo_parquet_file *file, const struct allo_row_group *group,
			   struct allo_error *err);

/* Writes the end.  The caller finishes the output. */
bool allo_parquet_file_end(struct allo_parquet_file *file, const struct allo_parquet_fact *facts,
			   size_t fact_count, struct allo_error *err);

void allo_parquet_file_done(struct allo_parquet_file *file);

#endif
