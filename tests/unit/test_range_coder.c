/* test_range_coder.c - what is written is read, and takes as much room as it is worth. */
#include "check.h"
#include "random.h"
#include "replay/packed/range_coder.h"

#include <math.h>

enum { STEPS = 300000, CHANCES = 40, ROOM = STEPS * 8 };

/* What was written last. */
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

/* Bits of many chances, from never to always, and numbers below anything. */
static void step(struct allo_range_coder *coder, bool reads, allo_chance *chances, uint64_t *seed)
{
	uint32_t which = draw(seed, CHANCES), count = 1 + draw(seed, 1 << draw(seed, 24));
	bool bit = draw(seed, 1 << (1 + which / 2)) > 0;
	uint32_t number = draw(seed, count);

	assert_int_equal(allo_range_bit(coder, reads, &chances[which], reads ? false : bit), bit);
	assert_int_equal(allo_range_even(coder, reads, count, reads ? 0 : number), number);
}

static void all_that_is_written_is_read(void **state)
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

/* Bytes for bits of which one in so many is not set. */
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

static void bits_take_what_they_are_worth(void **state)
{

	(void)state;
	for (uint32_t one_in = 2; one_in <= 64; one_in *= 2) {
		double p = 1.0 / one_in;
		double worth = -(p * log2(p) + (1 - p) * log2(1 - p)) * STEPS / 8;

		/* Chances that are learned are never quite right: two hundredths of a bit. */
		assert_true((double)size_of_bits(one_in) < worth + 0.02 * STEPS / 8);
	}
	/* And those that are sure next to nothing. */
	assert_true(size_of_bits(1 << 14) < STEPS / 1000);
}

/* Digits that are nines, so to speak, wait for what comes behind them. */
static void what_was_written_may_still_change(void **state)
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

/* Whatever they are: behind their end they go on. */
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
		cmocka_unit_test(all_that_is_written_is_read),
		cmocka_unit_test(bits_take_what_they_are_worth),
		cmocka_unit_test(what_was_written_may_still_change),
		cmocka_unit_test(any_bytes_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
