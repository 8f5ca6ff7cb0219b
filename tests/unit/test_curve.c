/* test_curve.c - findings/curve.h. */
#include "check.h"
#include "findings/curve.h"

static struct allo_curve line(uint64_t from, uint64_t slope, size_t steps)
{
	struct allo_curve curve = { 0 };

	for (size_t i = 0; i < steps; i++)
		allo_curve_fill(&curve, i + 1, from + slope * i);
	return curve;
}

static void steps_without_events_keep_the_value_before(void **state)
{
	struct allo_curve curve = { 0 };

	(void)state;
	allo_curve_fill(&curve, 2, 0);
	allo_curve_fill(&curve, 5, 7);
	allo_curve_fill(&curve, 6, 9);
	allo_curve_fill(&curve, 4, 11); /* they have a value */
	assert_int_equal(curve.filled, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(curve.live[i], i < 2 ? 0 : i < 5 ? 7 : 9);
}

static void folding_keeps_the_last_value_and_adds_the_frees(void **state)
{
	struct allo_curve curve = line(0, 1, 5);

	(void)state;
	for (size_t i = 0; i < 5; i++)
		curve.old_freed[i] = 10 + i;
	allo_curve_fold(&curve);
	assert_int_equal(curve.filled, 2);
	assert_int_equal(curve.live[0], 1);
	assert_int_equal(curve.live[1], 3);
	assert_int_equal(curve.old_freed[0], 21);
	assert_int_equal(curve.old_freed[2], 14);
	assert_int_equal(curve.old_freed[3], 0);
}

static void a_line_has_its_slope_and_fits(void **state)
{
	const struct allo_curve curve = line(1ULL << 50, 1000, ALLO_CURVE_STEPS);
	struct allo_trend trend = allo_curve_trend(&curve, 32);

	(void)state;
	assert_true(trend.slope > 999.999 && trend.slope < 1000.001);
	assert_true(trend.r2 > 0.999999);
}

static void a_constant_has_no_trend(void **state)
{
	const struct allo_curve curve = line(4096, 0, 50), empty = { 0 };

	(void)state;
	assert_true(allo_curve_trend(&curve, 10).slope == 0);
	assert_true(allo_curve_trend(&curve, 10).r2 == 0);
	assert_true(allo_curve_trend(&empty, 0).r2 == 0);
}

/* A sawtooth falls as much as it rises. */
static void a_sawtooth_does_not_fit(void **state)
{
	struct allo_curve curve = { 0 };

	(void)state;
	for (size_t i = 0; i < 100; i++)
		allo_curve_fill(&curve, i + 1, i % 10 * 1000);
	assert_true(allo_curve_trend(&curve, 25).r2 < 0.1);
}

static void equal_shapes_correlate(void **state)
{
	const struct allo_curve rising = line(0, 10, 40), steeper = line(50, 30, 40);
	struct allo_curve falling = { 0 };

	(void)state;
	for (size_t i = 0; i < 40; i++)
		allo_curve_fill(&falling, i + 1, 400 - 10 * i);
	assert_true(allo_curve_correlation(&rising, &steeper) > 0.9999);
	assert_true(allo_curve_correlation(&rising, &falling) < -0.9999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_without_events_keep_the_value_before),
		cmocka_unit_test(folding_keeps_the_last_value_and_adds_the_frees),
		cmocka_unit_test(a_line_has_its_slope_and_fits),
		cmocka_unit_test(a_constant_has_no_trend),
		cmocka_unit_test(a_sawtooth_does_not_fit),
		cmocka_unit_test(equal_shapes_correlate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
