/*
 * row_group.h - the rows of a row group, by column, and their encoded bytes.
 *
 * A column whose values are all equal takes no memory.  Rows become a page of each column.  A group
 * can have several pages, which share the dictionaries of its columns: its rows then come in
 * batches, of which only the encoded pages stay in memory.
 */
#ifndef ALLO_PARQUET_ROW_GROUP_H
#define ALLO_PARQUET_ROW_GROUP_H

#include "base/text.h"
#include "parquet/bytes.h"
#include "parquet/encodings.h"
#include "parquet/number_dictionary.h"

/* Types of the format. */
enum allo_parquet_type {
	ALLO_PARQUET_INT32 = 1,
	ALLO_PARQUET_INT64 = 2,
	ALLO_PARQUET_DOUBLE = 5,
	ALLO_PARQUET_TEXT = 6, /* BYTE_ARRAY in UTF-8 */
};

struct allo_parquet_column {
	const char *name;
	enum allo_parquet_type type;
	bool may_be_null;
	bool is_steady; /* differences instead of a dictionary */
};

enum {
	ALLO_PARQUET_COLUMNS = 14, /* at most */
	/* Of a page, and of a group with one page.  Readers work on groups in parallel, and skip
	 * those that they do not need.  Larger pages are hardly smaller packed, and take memory:
	 * 262,144 allocations have up to 18 MB. */
	ALLO_ROW_GROUP_ROWS = 1 << 18,
	ALLO_ROW_GROUP_TEXT = 16 << 20, /* bytes of a column; a group ends above it */
};

/* The values of a column.  A double is a number with the same bits. */
struct allo_column_values {
	size_t count; /* of values that are not null */
	int64_t first;
	bool is_varied;            /* otherwise all are `first` */
	ALLO_VEC(int64_t) numbers; /* if they vary; the rest is undefined then */

	bool has_nulls, has_values;
	ALLO_VEC(uint8_t) is_there; /* by row, if there are both */

	/* In place of numbers, for a producer that knows the distinct values. */
	bool has_dictionary;
	struct allo_number_dictionary dictionary;

	struct allo_bytes text; /* PLAIN */
};

/* Where a column is in the group's bytes, and what is in it. */
struct allo_column_chunk {
	enum allo_encoding encoding;
	size_t start; /* of the dictionary, if it has one */
	size_t data_start;
	size_t packed, unpacked; /* bytes, with the headers of pages */
	size_t null_count;
	bool has_plain; /* a page is PLAIN, such as that of the dictionary */
	bool has_range;
	int64_t least, most; /* a double's bits for doubles */
};

/* Encodes one group after the other. */
struct allo_row_packer;

struct allo_row_packer *allo_row_packer_new(void); /* NULL when out of memory */
void allo_row_packer_free(struct allo_row_packer *packer);

/* The rows of a group, or a batch of them. */
struct allo_row_group {
	const struct allo_parquet_column *columns;
	size_t column_count, rows;
	struct allo_column_values values[ALLO_PARQUET_COLUMNS];
	void *owner;       /* the caller's: where it goes */
	bool is_continued; /* the next batch is of the same group */

	/* Result of allo_row_group_encode(), of the whole group, with its last batch. */
	size_t all_rows;
	struct allo_bytes bytes;
	struct allo_column_chunk chunks[ALLO_PARQUET_COLUMNS];
	bool is_lost; /* out of memory */

	/* Private. */
	struct allo_row_packer *packer;
};

/* NULL when out of memory.  The groups of all tables can share one after the other.  Those with the
 * same packer are encoded one after the other, too; the packer must stay. */
struct allo_row_group *allo_row_group_new(struct allo_row_packer *packer);
void allo_row_group_free(struct allo_row_group *group);

/* Empties it, for rows of these columns. */
void allo_row_group_begin(struct allo_row_group *group, const struct allo_parquet_column *columns,
			  size_t column_count);

/* Each row needs a value in each column; the caller counts .rows.  False when out of memory. */
bool allo_column_add_numbers(struct allo_column_values *values, const int64_t *numbers,
			     size_t count);
/* Of a column with nulls: `is_there` for `count` rows from `row` on, and the numbers of those that
 * are there. */
bool allo_column_add_optional(struct allo_column_values *values, size_t row,
			      const uint8_t *is_there, size_t count, const int64_t *numbers,
			      size_t number_count);
bool allo_column_add_text(struct allo_column_values *values, struct allo_text text);

/* A job for base/jobs.h.  The last batch of a group may have no rows. */
void allo_row_group_encode(void *group);

#endif
