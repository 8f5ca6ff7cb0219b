/* test_sampler.c - capture/sampler.h: the chance and the weight of samples. */
#include "check.h"

#include "capture/overhead.h"
#include "capture/sampler.h"

#include <math.h>

enum { BLOCKS = 2000000 };

static void set(enum allo_mode mode, uint64_t rate)
{
	allo_settings.mode = mode;
	allo_settings.rate = rate;
}

/* Checks the number of sampled blocks of a size: within five standard deviations of the binomial
 * distribution. */
static void assert_chance(uint64_t size, double chance, uint64_t seed)
{
	struct allo_sampler sampler = { .random = seed * 0x9e3779b97f4a7c15 | 1 };
	double expected = BLOCKS * chance, deviation = sqrt(expected * (1 - chance));
	unsigned taken = 0;

	sampler.left = allo_sampler_draw(&sampler);
	for (int i = 0; i < BLOCKS; i++) {
		if (!allo_sampler_takes(&sampler, size))
			continue;
		taken++;
		sampler.left = allo_sampler_draw(&sampler);
	}
	if (fabs(taken - expected) > 5 * deviation + 1e-6)
		fail_msg("of blocks of %llu bytes %u were taken instead of %.0f +- %.0f",
			 (unsigned long long)size, taken, expected, deviation);
	assert_int_equal(sampler.alloc_blocks, BLOCKS);
	assert_int_equal(sampler.alloc_bytes, BLOCKS * size);
}

static void the_chance_of_a_block_depends_on_its_size_alone(void **state)
{
	static const uint64_t sizes[] = { 1, 16, 700, 4096, 65536, 524288, 10 << 20 };

	(void)state;
	set(ALLO_SAMPLED, 512 << 10);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		assert_chance(sizes[i], -expm1(-(double)sizes[i] / (512 << 10)), i + 1);
	set(ALLO_SAMPLED, 2);
	assert_chance(1, -expm1(-0.5), 77);
	/* A block of size 0 counts as one byte. */
	assert_chance(0, -expm1(-0.5), 78);
}

static void sampling_by_events_takes_one_in_rate(void **state)
{
	(void)state;
	set(ALLO_SAMPLED_EVENTS, 1000);
	assert_chance(16, 0.001, 1);
	assert_chance(1 << 20, 0.001, 2);
	set(ALLO_SAMPLED_EVENTS, 2);
	assert_chance(16, 0.5, 3);
}

/* Blocks of several sizes in turn: the weights of the samples add up to the total. */
static void weights_of_samples_add_up_to_the_total(void **state)
{
	static const uint64_t sizes[] = { 16, 700, 40000, 3 << 20 };
	struct allo_sampler sampler = { .random = 4711 };
	double bytes = 0, truth = 0, variance = 0;

	(void)state;
	set(ALLO_SAMPLED, 64 << 10);
	sampler.left = allo_sampler_draw(&sampler);
	for (int i = 0; i < BLOCKS; i++) {
		uint64_t size = sizes[i % 4];
		double chance = -expm1(-(double)size / (64 << 10));

		truth += (double)size;
		variance += (double)size * (double)size * (1 - chance) / chance;
		if (!allo_sampler_takes(&sampler, size))
			continue;
		bytes += (double)allo_sampler_weighted(size);
		sampler.left = allo_sampler_draw(&sampler);
	}
	assert_true(fabs(bytes - truth) < 5 * sqrt(variance));
}

static void weights_are_exact(void **state)
{
	(void)state;
	set(ALLO_SAMPLED, 512);
	assert_int_equal(allo_sampler_weighted(1024), 1184);
	assert_int_equal(allo_sampler_weighted(0), 0);
	set(ALLO_SAMPLED, 512 << 10);
	for (uint64_t size = 1; size < 1ull << 40; size = size * 3 + 1) {
		double exact = (double)size / -expm1(-(double)size / (512 << 10));

		assert_true(fabs((double)allo_sampler_weighted(size) - exact) < 1 + exact * 1e-6);
	}
	set(ALLO_SAMPLED_EVENTS, 1000);
	assert_int_equal(allo_sampler_weighted(16), 16000);
}

static void the_interval_keeps_the_cost_below_the_limit(void **state)
{
	const uint64_t two_percent = 20000;

	(void)state;
	/* Of 1 s, 20 ms are allowed, and 16 ms the aim: 32 ms need twice the interval. */
	assert_int_equal(allo_overhead_next_rate(1 << 20, two_percent, 32e6, 0, 1e9), 2 << 20);
	/* The part that does not depend on the interval leaves less. */
	assert_int_equal(allo_overhead_next_rate(1 << 20, two_percent, 32e6, 8e6, 1e9), 4 << 20);
	/* It may take all: samples then get a quarter. */
	assert_int_equal(allo_overhead_next_rate(1 << 20, two_percent, 20e6, 90e6, 1e9), 4 << 20);
	/* Less load allows more samples, in steps of at most 8 and 16. */
	assert_int_equal(allo_overhead_next_rate(1 << 20, two_percent, 4e6, 0, 1e9), 1 << 18);
	assert_int_equal(allo_overhead_next_rate(1 << 20, two_percent, 0, 0, 1e9), 1 << 17);
	assert_int_equal(allo_overhead_next_rate(1 << 20, two_percent, 5e9, 0, 1e9), 16 << 20);
	assert_int_equal(allo_overhead_next_rate(32, two_percent, 0, 0, 1e9), 16);
	/* Small differences change nothing. */
	assert_int_equal(allo_overhead_next_rate(1 << 20, two_percent, 18e6, 0, 1e9), 1 << 20);
	assert_int_equal(allo_overhead_next_rate(1 << 20, two_percent, 11e6, 0, 1e9), 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_chance_of_a_block_depends_on_its_size_alone),
		cmocka_unit_test(sampling_by_events_takes_one_in_rate),
		cmocka_unit_test(weights_of_samples_add_up_to_the_total),
		cmocka_unit_test(weights_are_exact),
		cmocka_unit_test(the_interval_keeps_the_cost_below_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
