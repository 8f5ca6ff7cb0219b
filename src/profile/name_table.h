/*
 * name_table.h - a serialised symbol table of one module, for recordings and the name cache.
 *
 *     path, build id              texts: a varint with the length, then the bytes
 *     string count, strings       a varint, texts
 *     function count, functions   a varint; four varints each: name, linkage name and file as
 *                                 string numbers (0: none), and the first line
 *     row count, rows             a varint; each: the address minus the one of the row before, the
 *                                 number of lines, and function, line and column of each line,
 *                                 all varints
 *
 * Strings and functions are numbered from 1.  Addresses are those of calls in the module's own
 * tables, independent of the load address.  The innermost inlined call comes first.
 */
#ifndef ALLO_PROFILE_NAME_TABLE_H
#define ALLO_PROFILE_NAME_TABLE_H

#include "profile/profile.h"

typedef ALLO_VEC(char) allo_name_bytes;

/* Builds a table from lines of `profile`.  The caller sets the public fields; the rest is zeros. */
struct allo_name_writer {
	const struct allo_profile *profile;
	struct allo_text path, build_id;

	/* Private from here on. */
	allo_name_bytes strings, functions, rows;
	uint32_t string_count, function_count, row_count;
	uint64_t last;
	ALLO_VEC(uint32_t) string_numbers, function_numbers; /* by id; 0: not in the table */
};

void allo_name_writer_done(struct allo_name_writer *writer);

/* Adds the lines of an address; there may be none.  Addresses ascend. */
bool allo_name_writer_add(struct allo_name_writer *writer, uint64_t address,
			  const struct allo_line *lines, size_t count, struct allo_error *err);

/* Size of the table so far, in bytes. */
size_t allo_name_writer_size(const struct allo_name_writer *writer);

/* Appends the table to `out`, and starts a new one for the same module. */
bool allo_name_writer_finish(struct allo_name_writer *writer, allo_name_bytes *out,
			     struct allo_error *err);

struct allo_name_row {
	uint64_t address;
	size_t line_count;
};

/* Reads a table, which is untrusted input.  allo_name_reader_take() adds names to `profile`. */
struct allo_name_reader {
	struct allo_profile *profile;
	struct allo_text path, build_id;
	uint64_t rows_left;

	/* Private from here on. */
	struct allo_text rows;
	uint64_t last;
	ALLO_VEC(struct allo_text) strings;       /* by number */
	ALLO_VEC(struct allo_function) functions; /* by number, with numbers of strings */
	ALLO_VEC(allo_string_id) string_ids;      /* by number; 0: not in the profile yet */
	ALLO_VEC(allo_function_id) function_ids;  /* the same */
	ALLO_VEC(struct allo_line) lines;         /* of the current row, with the table's numbers */
};

void allo_name_reader_done(struct allo_name_reader *reader);

/* False when the bytes are not a table, and when out of memory.  The bytes must outlive the reader.
 */
bool allo_name_reader_open(struct allo_name_reader *reader, struct allo_profile *profile,
			   struct allo_text bytes, struct allo_error *err);

/* Moves to the next row.  False after the last one, at a damaged row (rows_left is not 0 then), and
 * when out of memory. */
bool allo_name_reader_next(struct allo_name_reader *reader, struct allo_name_row *row,
			   struct allo_error *err);

/* The lines of the current row with the profile's ids, valid until the next row.  NULL when out of
 * memory. */
const struct allo_line *allo_name_reader_take(struct allo_name_reader *reader,
					      struct allo_error *err);

#endif
