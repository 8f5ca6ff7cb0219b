/*
 * fuzz_name_table.c - any bytes as a table of names.
 *
 * In files they have checksums, which no fuzzer would ever find.  The content of a table is
 * written again, and must come out the same.
 */
#include "base/defer.h"
#include "profile/name_table.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all rows, and writes those that are sound to `out`.  How many that are. */
static size_t copy(struct allo_text bytes, allo_name_bytes *out)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_name_reader_done) struct allo_name_reader reader = { 0 };
	ALLO_DEFER(allo_name_writer_done) struct allo_name_writer writer = { .profile = &profile };
	struct allo_error err = { 0 };
	struct allo_name_row row;
	size_t rows = 0;

	if (!allo_name_reader_open(&reader, &profile, bytes, &err))
		return 0;
	writer.path = reader.path;
	writer.build_id = reader.build_id;
	while (allo_name_reader_next(&reader, &row, &err)) {
		const struct allo_line *lines = allo_name_reader_take(&reader, &err);

		if (allo_failed(&err) ||
		    !allo_name_writer_add(&writer, row.address, lines, row.line_count, &err))
			return 0;
		rows++;
	}
	if (!allo_name_writer_finish(&writer, out, &err))
		return 0;
	if (!allo_profile_validate(&profile, &err))
		abort();
	return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	allo_name_bytes once = { 0 }, twice = { 0 };
	size_t rows = copy((struct allo_text){ (const char *)data, size }, &once);

	if (once.len > 0 && (copy((struct allo_text){ once.at, once.len }, &twice) != rows ||
			     once.len != twice.len || memcmp(once.at, twice.at, once.len) != 0))
		abort();
	allo_vec_done(&once);
	allo_vec_done(&twice);
	return 0;
}
