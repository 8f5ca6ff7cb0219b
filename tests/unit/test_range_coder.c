/* test_range_coder.c - values are read back, and take about their entropy. */
#include "check.h"
#include "random.h"
#include "replay/packed/range_coder.h"

#include <math.h>

enum { STEPS = 300000, CHANCES = 40, ROOM = STEPS * 8 };

/* The values that were written. */
static struct {
	uint8_t coded[ROOM], runs[ROOM];
	size_t coded_len, runs_len;
} bytes;

static struct allo_range_coder begin_writing(void)
{
	struct allo_range_coder coder = { .out = bytes.coded, .runs_out = bytes.runs };

	allo_range_begin_writing(&coder);
	return coder;
}

static void end_writing(struct allo_range_coder *coder)
{
	allo_range_end_writing(coder);
	bytes.coded_len = (size_t)(coder->out - bytes.coded);
	bytes.runs_len = (size_t)(coder->runs_out - bytes.runs);
	assert_true(bytes.coded_len <= ROOM && bytes.runs_len <= ROOM);
}

static struct allo_range_coder begin_reading(void)
{
	struct allo_range_coder coder = { .in = bytes.coded,
					  .in_end = bytes.coded + bytes.coded_len,
					  .runs_in = bytes.runs,
					  .runs_end = bytes.runs + bytes.runs_len };

	allo_range_begin_reading(&coder);
	return coder;
}

static void set_even(allo_chance *chances)
{
	for (int i = 0; i < CHANCES; i++)
		chances[i] = ALLO_CHANCE_EVEN;
}

/* Bits with chances from 0 to 1, and even numbers. */
static void step(struct allo_range_coder *coder, bool reads, allo_chance *chances, uint64_t *seed)
{
	uint32_t which = draw(seed, CHANCES), count = 1 + draw(seed, 1 << draw(seed, 24));
	bool bit = draw(seed, 1 << (1 + which / 2)) > 0;
	uint32_t number = draw(seed, count);

	assert_int_equal(allo_range_bit(coder, reads, &chances[which], reads ? false : bit), bit);
	assert_int_equal(allo_range_even(coder, reads, count, reads ? 0 : number), number);
}

static void written_values_are_read_back(void **state)
{
	struct allo_range_coder coder;
	allo_chance chances[CHANCES];
	uint64_t seed = 1;

	(void)state;
	coder = begin_writing();
	set_even(chances);
	for (int i = 0; i < STEPS; i++)
		step(&coder, false, chances, &seed);
	end_writing(&coder);
	coder = begin_reading();
	set_even(chances);
	seed = 1;
	for (int i = 0; i < STEPS; i++)
		step(&coder, true, chances, &seed);
}

/* The size of bits of which one in `rare` is 0. */
static size_t size_of_bits(uint32_t one_in)
{
	struct allo_range_coder coder = begin_writing();
	allo_chance chance = ALLO_CHANCE_EVEN;
	uint64_t seed = one_in;

	for (int i = 0; i < STEPS; i++)
		allo_range_bit(&coder, false, &chance, draw(&seed, one_in) > 0);
	end_writing(&coder);
	return bytes.coded_len + bytes.runs_len;
}

static void bits_take_their_entropy(void **state)
{

	(void)state;
	for (uint32_t one_in = 2; one_in <= 64; one_in *= 2) {
		double p = 1.0 / one_in;
		double worth = -(p * log2(p) + (1 - p) * log2(1 - p)) * STEPS / 8;

		/* Adaptive chances cost up to 0.02 bits more. */
		assert_true((double)size_of_bits(one_in) < worth + 0.02 * STEPS / 8);
	}
	/* Sure bits take almost nothing. */
	assert_true(size_of_bits(1 << 14) < STEPS / 1000);
}

/* A carry may pass through digits that are already written. */
static void carries_change_written_digits(void **state)
{
	struct allo_range_coder coder;

	(void)state;
	coder = begin_writing();
	for (int i = 0; i < 1000; i++)
		allo_range_even(&coder, false, 255, 127);
	allo_range_even(&coder, false, 3, 2);
	end_writing(&coder);
	coder = begin_reading();
	for (int i = 0; i < 1000; i++)
		assert_int_equal(allo_range_even(&coder, true, 255, 0), 127);
	assert_int_equal(allo_range_even(&coder, true, 3, 0), 2);
}

/* Reading continues with zeros after the end. */
static void any_bytes_can_be_read(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (size_t len = 0; len < 200; len++) {
		struct allo_range_coder coder;
		allo_chance chances[CHANCES];

		for (size_t i = 0; i < len; i++)
			bytes.coded[i] = bytes.runs[i] = (uint8_t)(draw(&seed, 4) ? 255 : seed);
		bytes.coded_len = bytes.runs_len = len;
		coder = begin_reading();
		set_even(chances);
		for (uint32_t i = 0; i < 4000; i++) {
			uint32_t count = 1 + draw(&seed, ALLO_RANGE_EVEN_MAX);

			allo_range_bit(&coder, true, &chances[i % CHANCES], false);
			assert_true(allo_range_even(&coder, true, count, 0) < count);
			assert_true(coder.range >> 32 != 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_values_are_read_back),
		cmocka_unit_test(bits_take_their_entropy),
		cmocka_unit_test(carries_change_written_digits),
		cmocka_unit_test(any_bytes_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
