/* test_svg_page.c - report/svg_page.h. */
#include "report/svg_page.h"

#include "base/defer.h"
#include "check.h"
#include "random.h"

/* Of the program; this one has no styles. */
const char allo_charts_css[] = "";

static void steps_are_round_and_few(void **state)
{
	(void)state;
	assert_int_equal(allo_svg_step(0, 5, ALLO_UNIT_BYTES), 1);
	assert_int_equal(allo_svg_step(5, 5, ALLO_UNIT_BYTES), 1);
	assert_int_equal(allo_svg_step(7 << 20, 5, ALLO_UNIT_BYTES), 2 << 20);
	assert_int_equal(allo_svg_step(39800781, 5, ALLO_UNIT_COUNT), 10000000);
	assert_int_equal(allo_svg_step(145600000, 8, ALLO_UNIT_NS), 20000000);
}

static void any_length_has_a_step(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t length = draw_u64(&random) >> draw(&random, 64);
		uint64_t step = allo_svg_step(length, 5, i % 2 ? ALLO_UNIT_BYTES : ALLO_UNIT_NS);

		/* Next to UINT64_MAX, where steps stop to grow, there is one line more. */
		assert_true(step > 0 && length / step <= 10);
		assert_true(step == 1 || length / step >= 2);
	}
}

static void labels_have_no_needless_digits(void **state)
{
	char text[ALLO_NUMBER_SIZE];

	(void)state;
	assert_string_equal(allo_svg_label(128 << 10, ALLO_UNIT_BYTES, text), "128 KiB");
	assert_string_equal(allo_svg_label(3 << 19, ALLO_UNIT_BYTES, text), "1.5 MiB");
	assert_string_equal(allo_svg_label(512, ALLO_UNIT_BYTES, text), "512 B");
	assert_string_equal(allo_svg_label(20000000, ALLO_UNIT_NS, text), "20 ms");
	assert_string_equal(allo_svg_label(1500000000, ALLO_UNIT_NS, text), "1.5 s");
	assert_string_equal(allo_svg_label(40000000, ALLO_UNIT_COUNT, text), "40 M");
	assert_string_equal(allo_svg_label(500000, ALLO_UNIT_COUNT, text), "500 k");
	assert_string_equal(allo_svg_label(5000, ALLO_UNIT_COUNT, text), "5,000");
}

static void long_legends_have_several_lines(void **state)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options plain = { 0 };
	struct allo_error err = { 0 };
	struct allo_svg_key keys[12];
	unsigned one, all;

	(void)state;
	for (size_t i = 0; i < 12; i++)
		keys[i] = (struct allo_svg_key){ "g0", ALLO_TEXT("a_function_with_a_name") };
	assert_true(allo_output_open_memory(&out, &plain, &err));
	one = allo_svg_legend(NULL, keys, 1, 100);
	all = allo_svg_legend(NULL, keys, 12, 100);
	assert_true(one > 0 && all > one);
	assert_int_equal(allo_svg_legend(&out, keys, 12, 100), all);
	assert_int_equal(allo_svg_legend(NULL, keys, 0, 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_round_and_few),
		cmocka_unit_test(any_length_has_a_step),
		cmocka_unit_test(labels_have_no_needless_digits),
		cmocka_unit_test(long_legends_have_several_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
