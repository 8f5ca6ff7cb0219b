/* test_histogram.c - analysis/histogram.h. */
#include "analysis/histogram.h"
#include "base/units.h"
#include "check.h"
#include "random.h"

static void assert_bins_cover_everything(const struct allo_histogram *histogram)
{
	assert_true(histogram->count > 0);
	assert_int_equal(histogram->bins[0].from, 0);
	assert_int_equal(histogram->bins[histogram->count - 1].to, UINT64_MAX);
	for (size_t i = 1; i < histogram->count; i++)
		assert_int_equal(histogram->bins[i].from, histogram->bins[i - 1].to + 1);
}

/* The only bin that has anything. */
static const struct allo_bin *bin_of(struct allo_histogram histogram, uint64_t value)
{
	static struct allo_bin bin;
	size_t first, end;

	allo_histogram_add(&histogram, value, 1, 5);
	allo_histogram_used(&histogram, &first, &end);
	assert_int_equal(end, first + 1);
	bin = histogram.bins[first];
	assert_int_equal(bin.blocks, 1);
	assert_int_equal(bin.bytes, 5);
	return &bin;
}

static void every_value_has_its_bin(void **state)
{
	struct allo_histogram histograms[3];
	struct allo_error err = { 0 };
	uint64_t seed = 5;

	(void)state;
	allo_histogram_by_two(&histograms[0]);
	allo_histogram_by_ten(&histograms[1]);
	assert_true(allo_histogram_by_list(&histograms[2], "16,100,1K", allo_parse_bytes, &err));
	for (size_t i = 0; i < 3; i++) {
		assert_bins_cover_everything(&histograms[i]);
		for (int k = 0; k < 500; k++) {
			uint64_t value = draw_u64(&seed) >> draw(&seed, 64);
			const struct allo_bin *bin = bin_of(histograms[i], value);

			assert_true(bin->from <= value && value <= bin->to);
		}
		bin_of(histograms[i], 0);
		bin_of(histograms[i], UINT64_MAX);
	}
}

static void estimates_are_rounded_when_they_are_added_up(void **state)
{
	struct allo_histogram histogram;
	size_t first, end;

	(void)state;
	allo_histogram_by_two(&histogram);
	for (int i = 0; i < 1000; i++) {
		allo_histogram_estimate(&histogram, 16, 1.2, 19.3);
		allo_histogram_estimate_never(&histogram, 1.4, 0.1);
	}
	allo_histogram_used(&histogram, &first, &end);
	assert_int_equal(histogram.bins[first].blocks, 1200);
	assert_int_equal(histogram.bins[first].bytes, 19300);
	assert_int_equal(histogram.blocks, 1200);
	assert_int_equal(histogram.bytes, 19300);
	assert_int_equal(histogram.never_blocks, 1400);
	assert_int_equal(histogram.never_bytes, 100);
	allo_histogram_estimate(&histogram, 16, 1e300, 1e300);
	assert_int_equal(histogram.blocks, UINT64_MAX);
}

static void powers_of_two_end_bins(void **state)
{
	struct allo_histogram histogram;

	(void)state;
	allo_histogram_by_two(&histogram);
	assert_int_equal(bin_of(histogram, 16)->from, 9);
	assert_int_equal(bin_of(histogram, 17)->to, 32);
	assert_int_equal(bin_of(histogram, 1)->to, 1);
	assert_int_equal(bin_of(histogram, 1ull << 63)->to, 1ull << 63);
}

static void powers_of_ten_begin_bins(void **state)
{
	struct allo_histogram histogram;

	(void)state;
	allo_histogram_by_ten(&histogram);
	assert_int_equal(bin_of(histogram, 999)->from, 0);
	assert_int_equal(bin_of(histogram, 1000)->from, 1000);
	assert_int_equal(bin_of(histogram, 1000)->to, 9999);
	assert_int_equal(bin_of(histogram, UINT64_MAX)->from, 1000000000000);
}

static void a_list_may_begin_with_zero(void **state)
{
	struct allo_histogram histogram;
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_histogram_by_list(&histogram, "0,5", allo_parse_bytes, &err));
	assert_int_equal(histogram.count, 2);
	assert_bins_cover_everything(&histogram);
	assert_int_equal(histogram.bins[1].from, 5);
}

static void bad_lists_are_refused(void **state)
{
	static const char *const lists[] = { "", "5,5", "0,0", "9,3", "x", "1,,2", "1,2,", "-1" };

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct allo_histogram histogram;
		struct allo_error err = { 0 };

		assert_false(allo_histogram_by_list(&histogram, lists[i], allo_parse_bytes, &err));
		assert_int_equal(err.code, ALLO_USAGE);
	}
}

static void sums_stay_at_the_largest_number(void **state)
{
	struct allo_histogram histogram;

	(void)state;
	allo_histogram_by_two(&histogram);
	for (int i = 0; i < 3; i++) {
		allo_histogram_add(&histogram, 7, UINT64_MAX / 2, UINT64_MAX);
		allo_histogram_add_never(&histogram, UINT64_MAX / 2, 1);
	}
	assert_int_equal(histogram.blocks, UINT64_MAX);
	assert_int_equal(histogram.bytes, UINT64_MAX);
	assert_int_equal(histogram.never_blocks, UINT64_MAX);
	assert_int_equal(histogram.never_bytes, 3);
}

static void nothing_uses_no_bins(void **state)
{
	struct allo_histogram histogram;
	size_t first = 3, end = 4;

	(void)state;
	allo_histogram_by_two(&histogram);
	allo_histogram_used(&histogram, &first, &end);
	assert_int_equal(first, 0);
	assert_int_equal(end, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_has_its_bin),
		cmocka_unit_test(estimates_are_rounded_when_they_are_added_up),
		cmocka_unit_test(powers_of_two_end_bins),
		cmocka_unit_test(powers_of_ten_begin_bins),
		cmocka_unit_test(a_list_may_begin_with_zero),
		cmocka_unit_test(bad_lists_are_refused),
		cmocka_unit_test(sums_stay_at_the_largest_number),
		cmocka_unit_test(nothing_uses_no_bins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
