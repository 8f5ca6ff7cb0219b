/* test_parquet.c - encoded numbers, as an independent decoder reads them. */
#include "base/defer.h"
#include "check.h"
#include "parquet/encodings.h"
#include "parquet/number_dictionary.h"
#include "parquet/row_group.h"
#include "random.h"

#include <stdlib.h>

enum { MOST = 3000, ROUNDS = 300 };

/* Reads what was encoded, bit by bit. */
struct reader {
	const unsigned char *at, *end;
};

static uint64_t take_bits(const unsigned char *bytes, size_t from, unsigned width)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < width; i++)
		number |= (uint64_t)(bytes[(from + i) / 8] >> (from + i) % 8 & 1) << i;
	return number;
}

static unsigned char take_byte(struct reader *reader)
{
	assert_true(reader->at < reader->end);
	return *reader->at++;
}

static uint64_t take_varint(struct reader *reader)
{
	uint64_t number = 0;

	for (unsigned shift = 0;; shift += 7) {
		unsigned char byte = take_byte(reader);

		number |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return number;
	}
}

static uint64_t take_zigzag(struct reader *reader)
{
	uint64_t number = take_varint(reader);

	return number >> 1 ^ (0 - (number & 1));
}

static struct reader reader_of(const struct allo_bytes *bytes)
{
	assert_false(bytes->is_lost);
	return (struct reader){ bytes->at, bytes->at + bytes->len };
}

static size_t read_runs(struct reader reader, unsigned width, size_t count, uint32_t *numbers)
{
	size_t found = 0;

	while (found < count) {
		uint64_t head = take_varint(&reader), size = head >> 1;

		if (head & 1) {
			assert_true(size * width <= (size_t)(reader.end - reader.at));
			for (size_t i = 0; i < size * 8 && found < count; i++)
				numbers[found++] = (uint32_t)take_bits(reader.at, i * width, width);
			reader.at += size * width;
			continue;
		}
		assert_true((width + 7) / 8 <= reader.end - reader.at && found + size <= count);
		for (size_t i = 0; i < size; i++)
			numbers[found++] = (uint32_t)take_bits(reader.at, 0, width);
		reader.at += (width + 7) / 8;
	}
	assert_ptr_equal(reader.at, reader.end);
	return found;
}

static void read_deltas(struct reader reader, size_t count, int64_t *numbers)
{
	size_t block = take_varint(&reader), parts = take_varint(&reader), found = 1;

	assert_true(block % 128 == 0 && block / parts % 32 == 0);
	assert_int_equal(take_varint(&reader), count);
	numbers[0] = (int64_t)take_zigzag(&reader);
	while (found < count) {
		uint64_t least = take_zigzag(&reader);
		const unsigned char *widths = reader.at;

		reader.at += parts;
		for (size_t part = 0; part < parts && found < count; part++) {
			for (size_t i = 0; i < block / parts && found < count; i++, found++)
				numbers[found] = (int64_t)((uint64_t)numbers[found - 1] + least +
							   take_bits(reader.at, i * widths[part],
								     widths[part]));
			reader.at += block / parts / 8 * widths[part];
			assert_true(reader.at <= reader.end);
		}
	}
	assert_ptr_equal(reader.at, reader.end);
}

/* Numbers with runs of all lengths. */
static size_t draw_numbers(uint64_t *seed, unsigned width, int64_t *numbers)
{
	size_t count = 1 + draw(seed, MOST);
	uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;

	for (size_t i = 0; i < count;) {
		size_t run = draw(seed, 3) ? 1 : 1 + draw(seed, 40);
		uint64_t number = draw_u64(seed) & mask;

		for (; run > 0 && i < count; run--)
			numbers[i++] = (int64_t)number;
	}
	return count;
}

static void runs_are_read_back(void **state)
{
	ALLO_DEFER(allo_bytes_done) struct allo_bytes bytes = { 0 };
	static int64_t numbers[MOST + 1];
	static uint32_t given[MOST + 1], found[MOST + 1];
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned width = (unsigned)draw(&seed, 33);
		size_t count = draw_numbers(&seed, width, numbers);

		for (size_t i = 0; i < count; i++)
			given[i] = (uint32_t)numbers[i];
		bytes.len = 0;
		allo_encode_runs(&bytes, given, count, width);
		assert_int_equal(read_runs(reader_of(&bytes), width, count, found), count);
		assert_memory_equal(found, given, count * sizeof(*given));
	}
}

static void differences_are_read_back(void **state)
{
	ALLO_DEFER(allo_bytes_done) struct allo_bytes bytes = { 0 };
	static int64_t numbers[MOST + 1], found[MOST + 1];
	uint64_t seed = 2;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		size_t count = draw_numbers(&seed, (unsigned)draw(&seed, 65), numbers);

		/* The time of a block that is never freed, after small ones. */
		if (draw(&seed, 2))
			numbers[draw(&seed, (uint32_t)count)] = INT64_MAX;
		if (draw(&seed, 2))
			numbers[draw(&seed, (uint32_t)count)] = INT64_MIN;
		bytes.len = 0;
		allo_encode_deltas(&bytes, numbers, count);
		read_deltas(reader_of(&bytes), count, found);
		assert_memory_equal(found, numbers, count * sizeof(*numbers));
	}
}

static void presence_is_read_back(void **state)
{
	ALLO_DEFER(allo_bytes_done) struct allo_bytes bytes = { 0 };
	static uint8_t given[MOST];
	static uint32_t found[MOST];
	uint64_t seed = 3;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		size_t count = 1 + draw(&seed, MOST - 1);
		bool is_mixed = draw(&seed, 4) > 0;
		struct reader reader;

		for (size_t i = 0; i < count; i++)
			given[i] = (uint8_t)(is_mixed ? draw(&seed, 2) : (uint32_t)round % 2);
		bytes.len = 0;
		allo_encode_presence(&bytes, is_mixed ? given : NULL, round % 2, count);
		reader = reader_of(&bytes);
		assert_int_equal(take_bits(reader.at, 0, 32), bytes.len - 4);
		reader.at += 4;
		read_runs(reader, 1, count, found);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(found[i], given[i]);
	}
}

static void a_dictionary_has_each_value_once(void **state)
{
	ALLO_DEFER(allo_number_dictionary_done) struct allo_number_dictionary dictionary = { 0 };
	size_t count = 65537 + 3;
	int64_t *numbers = calloc(count, sizeof(*numbers));

	(void)state;
	for (size_t i = 0; i < count; i++)
		numbers[i] = (int64_t)(i % 65537) * 4099 - 7;
	assert_true(allo_number_dictionary_fill(&dictionary, numbers, count, 65537));
	assert_int_equal(dictionary.values.len, 65537);
	for (size_t i = 0; i < count; i++)
		assert_true(dictionary.values.at[dictionary.indexes.at[i]] == numbers[i]);
	assert_int_equal(dictionary.values.at[0], -7);
	allo_number_dictionary_clear(&dictionary);
	assert_false(allo_number_dictionary_fill(&dictionary, numbers, count, 65536));
	allo_number_dictionary_clear(&dictionary);
	assert_true(allo_number_dictionary_fill(&dictionary, numbers, 1, 1));
	free(numbers);
}

static const struct allo_parquet_column weight = { .name = "weight", .type = ALLO_PARQUET_DOUBLE };

static struct allo_column_chunk chunk_of_doubles(const double *doubles, size_t count)
{
	struct allo_row_packer *packer = allo_row_packer_new();
	struct allo_row_group *group = allo_row_group_new(packer);
	struct allo_column_chunk chunk;

	allo_row_group_begin(group, &weight, 1);
	for (; group->rows < count; group->rows++) {
		int64_t bits;

		memcpy(&bits, &doubles[group->rows], sizeof(bits));
		assert_true(allo_column_add_numbers(&group->values[0], &bits, 1));
	}
	allo_row_group_encode(group);
	assert_false(group->is_lost);
	chunk = group->chunks[0];
	allo_row_group_free(group);
	allo_row_packer_free(packer);
	return chunk;
}

static const struct allo_parquet_column number = { .name = "size", .type = ALLO_PARQUET_INT64 };

static void encode_batch(struct allo_row_group *group, int64_t first, int64_t end,
			 bool is_continued)
{
	allo_row_group_begin(group, &number, 1);
	for (int64_t i = first; i < end; i++, group->rows++) {
		int64_t value = i / 3;

		assert_true(allo_column_add_numbers(&group->values[0], &value, 1));
	}
	group->is_continued = is_continued;
	allo_row_group_encode(group);
	assert_false(group->is_lost);
}

/* A batch without rows ends a group, too.  The next group has another dictionary. */
static void batches_make_one_group(void **state)
{
	struct allo_row_packer *packer = allo_row_packer_new();
	struct allo_row_group *group = allo_row_group_new(packer);
	const struct allo_column_chunk *chunk = &group->chunks[0];

	(void)state;
	for (int64_t from = 0; from <= 3000; from += 3000) {
		encode_batch(group, from, from + 900, true);
		assert_int_equal(group->bytes.len, 0);
		encode_batch(group, from + 900, from + 1200, true);
		encode_batch(group, 0, 0, false);
		assert_int_equal(group->all_rows, 1200);
		assert_int_equal(chunk->encoding, ALLO_ENCODED_DICTIONARY);
		assert_int_equal(chunk->packed, group->bytes.len);
		assert_true(chunk->has_range && chunk->least == from / 3 &&
			    chunk->most == from / 3 + 399);
	}
	allo_row_group_free(group);
	allo_row_packer_free(packer);
}

static void ranges_have_no_nan(void **state)
{
	const double numbers[] = { 1.5, -2, 7e300, 3 }, with_nan[] = { 1.5, __builtin_nan(""), 3 };
	struct allo_column_chunk chunk = chunk_of_doubles(numbers, 4);
	double least;

	(void)state;
	assert_true(chunk.has_range);
	memcpy(&least, &chunk.least, sizeof(least));
	assert_true(least == -2);
	assert_false(chunk_of_doubles(with_nan, 3).has_range);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_read_back),
		cmocka_unit_test(differences_are_read_back),
		cmocka_unit_test(presence_is_read_back),
		cmocka_unit_test(a_dictionary_has_each_value_once),
		cmocka_unit_test(batches_make_one_group),
		cmocka_unit_test(ranges_have_no_nan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
