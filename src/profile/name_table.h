/*
 * name_table.h - names of a module's addresses as bytes, for files that keep them.
 *
 *     path, build-id                     texts: a varint with the length, and the bytes
 *     how many strings, the strings      a varint, texts
 *     how many functions, the functions  a varint; four varints each: name, name for linkers and
 *                                        file as numbers of strings (0: none), first line
 *     how many rows, the rows            a varint; each: how much higher the address is than the
 *                                        one before, how many lines, and for each of them function,
 *                                        line and column, all varints
 *
 * Strings and functions are numbered from 1.  Addresses are those of calls, as the module's own
 * tables have them, so that it does not matter where it was loaded.  The innermost inlined call
 * comes first.
 */
#ifndef ALLO_PROFILE_NAME_TABLE_H
#define ALLO_PROFILE_NAME_TABLE_H

#include "profile/profile.h"

typedef ALLO_VEC(char) allo_name_bytes;

/* A table while it is made, of lines of `profile`; all else zeros is empty. */
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

/* Adds the lines of an address, which is higher than the one before; there may be none. */
bool allo_name_writer_add(struct allo_name_writer *writer, uint64_t address,
			  const struct allo_line *lines, size_t count, struct allo_error *err);

/* Bytes so far. */
size_t allo_name_writer_size(const struct allo_name_writer *writer);

/* Appends the table to `out`, and begins a new one for the same module. */
bool allo_name_writer_finish(struct allo_name_writer *writer, allo_name_bytes *out,
			     struct allo_error *err);

struct allo_name_row {
	uint64_t address;
	size_t line_count;
};

/* A table that is read; nothing in it is trusted.  `profile` gets the names that are taken. */
struct allo_name_reader {
	struct allo_profile *profile;
	struct allo_text path, build_id;
	uint64_t rows_left;

	/* Private from here on. */
	struct allo_text rows;
	uint64_t last;
	ALLO_VEC(struct allo_text) strings;       /* by number */
	ALLO_VEC(struct allo_function) functions; /* by number, with numbers of strings */
	ALLO_VEC(allo_string_id) string_ids;      /* by number; 0: not taken yet */
	ALLO_VEC(allo_function_id) function_ids;  /* the same */
	ALLO_VEC(struct allo_line) lines;         /* of the row at hand, with the table's numbers */
};

void allo_name_reader_done(struct allo_name_reader *reader);

/* Whether the bytes, which stay as long, are a table; false as well when memory is short. */
bool allo_name_reader_open(struct allo_name_reader *reader, struct allo_profile *profile,
			   struct allo_text bytes, struct allo_error *err);

/* The next row; false behind the last one, where a row is damaged (rows are left then), and when
 * memory is short. */
bool allo_name_reader_next(struct allo_name_reader *reader, struct allo_name_row *row,
			   struct allo_error *err);

/* The lines of the row at hand, with the profile's ids; they stay until the next row.  NULL when
 * memory is short. */
const struct allo_line *allo_name_reader_take(struct allo_name_reader *reader,
					      struct allo_error *err);

#endif
