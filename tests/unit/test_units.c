/* test_units.c - base/units.h. */
#include "check.h"

#include "base/units.h"

static void bytes_have_three_or_four_digits_and_a_unit(void **state)
{
	const struct {
		uint64_t bytes;
		const char *text;
	} table[] = {
		{ 0, "0 B" },
		{ 999, "999 B" },
		{ 1023, "1,023 B" },
		{ 1024, "1.00 KiB" },
		{ 1536, "1.50 KiB" },
		{ 10229, "9.99 KiB" },
		{ 10240, "10.0 KiB" },
		{ 1048575, "1.00 MiB" }, /* and not 1024.0 KiB */
		{ 1048524, "1023.9 KiB" },
		{ (uint64_t)5 << 30, "5.00 GiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char text[ALLO_NUMBER_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_string_equal(allo_format_bytes(table[i].bytes, text), table[i].text);
}

static void counts_have_separators(void **state)
{
	char text[ALLO_NUMBER_SIZE];

	(void)state;
	assert_string_equal(allo_format_count(0, text), "0");
	assert_string_equal(allo_format_count(999, text), "999");
	assert_string_equal(allo_format_count(1000, text), "1,000");
	assert_string_equal(allo_format_count(8214330, text), "8,214,330");
	assert_string_equal(allo_format_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

static void signs_and_units_go_together(void **state)
{
	const struct allo_number none = { 0, true };
	const struct allo_number estimated_none = { .is_estimated = true };
	struct allo_number less = { 2048, true }, more = { 2048, false };
	struct allo_number most = { UINT64_MAX, true };
	char text[ALLO_NUMBER_SIZE];

	(void)state;
	assert_string_equal(allo_format(less, ALLO_UNIT_BYTES, false, text), "-2.00 KiB");
	assert_string_equal(allo_format(more, ALLO_UNIT_COUNT, false, text), "2,048");
	assert_string_equal(allo_format(more, ALLO_UNIT_NS, false, text), "2.05 us");
	assert_string_equal(allo_format(none, ALLO_UNIT_BYTES, false, text), "0 B");
	assert_string_equal(allo_format(less, ALLO_UNIT_BYTES, true, text), "-2048");
	assert_string_equal(allo_format_change(more, ALLO_UNIT_BYTES, false, text), "+2.00 KiB");
	assert_string_equal(allo_format_change(less, ALLO_UNIT_BYTES, true, text), "-2048");
	assert_string_equal(allo_format_change(none, ALLO_UNIT_COUNT, false, text), "0");
	assert_string_equal(allo_format_change(most, ALLO_UNIT_COUNT, false, text),
			    "-18,446,744,073,709,551,615");
	assert_string_equal(allo_format(most, ALLO_UNIT_NS, false, text), "-18446744073.7 s");
	more.is_estimated = less.is_estimated = most.is_estimated = true;
	assert_string_equal(allo_format(more, ALLO_UNIT_BYTES, false, text), "~2.00 KiB");
	assert_string_equal(allo_format(more, ALLO_UNIT_BYTES, true, text), "~2048");
	assert_string_equal(allo_format(estimated_none, ALLO_UNIT_BYTES, false, text), "0 B");
	assert_string_equal(allo_format_change(less, ALLO_UNIT_BYTES, false, text), "~-2.00 KiB");
	assert_string_equal(allo_format_change(most, ALLO_UNIT_COUNT, false, text),
			    "~-18,446,744,073,709,551,615");
}

static void times_go_up_to_seconds(void **state)
{
	const struct {
		uint64_t ns;
		const char *text;
	} table[] = {
		{ 999, "999 ns" },        { 1000, "1.00 us" },      { 999999, "1.00 ms" },
		{ 1234567890, "1.23 s" }, { 7830000000, "7.83 s" },
	};
	char text[ALLO_NUMBER_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_string_equal(allo_format((struct allo_number){ table[i].ns, false },
						ALLO_UNIT_NS, false, text),
				    table[i].text);
}

static void a_share_of_nothing_is_a_dash(void **state)
{
	char text[ALLO_NUMBER_SIZE];

	(void)state;
	assert_string_equal(allo_format_share(1, 0, text), "-");
	assert_string_equal(allo_format_share(1, 8, text), "12.5%");
	assert_string_equal(allo_format_share(-1, 8, text), "-12.5%");
	/* The largest that can be: a sum of 128 bits of the smallest there is. */
	assert_true(strlen(allo_format_share(0x1p100, 1, text)) < ALLO_NUMBER_SIZE);
}

static void units_are_known_by_their_names(void **state)
{
	(void)state;
	assert_int_equal(allo_unit_of(ALLO_TEXT("bytes")), ALLO_UNIT_BYTES);
	assert_int_equal(allo_unit_of(ALLO_TEXT("nanoseconds")), ALLO_UNIT_NS);
	assert_int_equal(allo_unit_of(ALLO_TEXT("instructions")), ALLO_UNIT_COUNT);
	assert_int_equal(allo_unit_of(ALLO_TEXT("")), ALLO_UNIT_COUNT);
}

static void sizes_are_read_as_people_write_them(void **state)
{
	const struct {
		const char *text;
		uint64_t bytes;
	} table[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "18446744073709551615", UINT64_MAX },
		{ "9007199254740993", 9007199254740993 }, /* more than a double holds */
		{ "64K", 65536 },
		{ "64k", 65536 },
		{ "1.5KiB", 1536 },
		{ "2MB", 2000000 },
		{ "2M", 2097152 },
		{ "1e6", 1000000 },
		{ "3G", (uint64_t)3 << 30 },
		{ "1tib", (uint64_t)1 << 40 },
		{ "7B", 7 },
	};
	static const char *const wrong[] = { "",     "K",     "-1",   "1.5.5",
					     "0x10", "inf",   "nan",  "1 K",
					     "1KK",  "K1",    "1e30", "5 ",
					     " 5",   "1kib5", "+1",   "18446744073709551616" };
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_true(allo_parse_bytes(allo_text_of(table[i].text), &bytes));
		assert_true(bytes == table[i].bytes);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(allo_parse_bytes(allo_text_of(wrong[i]), &bytes));
	assert_false(allo_parse_bytes((struct allo_text){ "1\0K", 3 }, &bytes));
}

static void times_are_read_as_people_write_them(void **state)
{
	const struct {
		const char *text;
		uint64_t ns;
	} table[] = {
		{ "10ms", 10000000 }, { "2.5s", 2500000000 }, { "3m", 180000000000 },
		{ "5", 5000000000 },  { "0.1", 100000000 },   { "1h", 3600000000000 },
		{ "7us", 7000 },      { "9ns", 9 },           { "2min", 120000000000 },
		{ "0", 0 },
	};
	static const char *const wrong[] = { "", "s", "-1s", "1d", "1e300s", "99999999999h" };
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_true(allo_parse_ns(allo_text_of(table[i].text), &ns));
		assert_true(ns == table[i].ns);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(allo_parse_ns(allo_text_of(wrong[i]), &ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_have_three_or_four_digits_and_a_unit),
		cmocka_unit_test(counts_have_separators),
		cmocka_unit_test(signs_and_units_go_together),
		cmocka_unit_test(times_go_up_to_seconds),
		cmocka_unit_test(a_share_of_nothing_is_a_dash),
		cmocka_unit_test(units_are_known_by_their_names),
		cmocka_unit_test(sizes_are_read_as_people_write_them),
		cmocka_unit_test(times_are_read_as_people_write_them),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
