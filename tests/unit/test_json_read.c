/* test_json_read.c - base/encoding/json_read.h. */
#include "check.h"

#include "base/defer.h"
#include "base/encoding/json_read.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

/* Steps over a whole document. */
static bool is_json(const char *text, size_t len, struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };

	return allo_input_open_memory(&in, "test", text, len, err) && allo_json_skip(&json, err) &&
	       allo_json_end(&json, err);
}

static void valid_documents_are_stepped_over(void **state)
{
	const char *good[] = { "{}",
			       "[]",
			       "null",
			       " true ",
			       "-0.5e+10",
			       "\"\\u00b5\\n\"",
			       "{\"a\":[1,{\"b\":[]},\"]\"],\"c\":null}",
			       "[[[[[]]]],[1,2]]" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct allo_error err = { 0 };

		assert_true(is_json(good[i], strlen(good[i]), &err));
	}
}

static void broken_documents_are_refused(void **state)
{
	const char *bad[] = {
		"",    "{",      "[1,]", "{\"a\"}", "{\"a\":1,}", "[1 2]",
		"01",  "1.",     "1e",   "+1",      "nul",        "\"\\x\"",
		"\"a", "\"\n\"", "[}",   "{]",      "1 2",        "\"\\ud800\\u0041\"",
		"--1", "tru e"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct allo_error err = { 0 };

		assert_false(is_json(bad[i], strlen(bad[i]), &err));
		assert_int_equal(err.code, ALLO_FORMAT);
	}
}

static void a_million_brackets_are_too_deep(void **state)
{
	static char brackets[1000000];
	struct allo_error err = { 0 };

	(void)state;
	memset(brackets, '[', sizeof(brackets));
	assert_false(is_json(brackets, sizeof(brackets), &err));
	assert_int_equal(err.code, ALLO_LIMIT);
}

static void places_are_lines_and_bytes(void **state)
{
	const char text[] = "{\n \"a\": 1,\n \"b\": x}";
	struct allo_error err = { 0 };

	(void)state;
	assert_false(is_json(text, strlen(text), &err));
	assert_int_equal(err.pos.line, 3);
	assert_int_equal(err.pos.byte, 7);
}

static void escapes_are_undone(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };
	const char text[] = "\"a\\\"\\\\\\/\\b\\u00b5\\ud83d\\ude00\\ud800z\"";
	struct allo_error err = { 0 };
	struct allo_text value;

	(void)state;
	assert_true(allo_input_open_memory(&in, "test", text, strlen(text), &err));
	assert_true(allo_json_string(&json, &value, &err));
	assert_text_equal(value, "a\"\\/\b\xc2\xb5\xf0\x9f\x98\x80\xef\xbf\xbdz");
}

static void numbers_are_exact_or_rounded_or_refused(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(allo_json_text_u64(ALLO_TEXT("18446744073709551615"), &value));
	assert_true(value == UINT64_MAX);
	assert_true(allo_json_text_u64(ALLO_TEXT("2.5e3"), &value));
	assert_int_equal(value, 2500);
	assert_true(allo_json_text_u64(ALLO_TEXT("1.6"), &value));
	assert_int_equal(value, 2);
	assert_false(allo_json_text_u64(ALLO_TEXT("-1"), &value));
	assert_false(allo_json_text_u64(ALLO_TEXT("1e20"), &value));
	assert_false(allo_json_text_u64(ALLO_TEXT("18446744073709551616"), &value));
}

static void rounding_is_exact_up_to_the_last_number(void **state)
{
	const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{ "18446744073709551615.4", UINT64_MAX },
		{ "1844674407370955161.5e1", UINT64_MAX },
		{ "18446744073709551615000e-3", UINT64_MAX },
		{ "9007199254740993.0", 9007199254740993 }, /* no double has this value */
		{ "0.5", 1 },
		{ "0.49999999999999999999999999999999999999999999999999999999999999999999999", 0 },
		{ "0e999999999999999999999", 0 },
		{ "7e-999999999999999999999", 0 },
		{ "0.00000000000000000000000000000000000000000000000000000000000000000000012e71",
		  12 },
		{ "5E+0", 5 },
	};
	const char *bad[] = { "18446744073709551615.5",
			      "1e999999999999",
			      "2e19",
			      "1.2.3",
			      "1e",
			      "1.",
			      ".5",
			      "1e5e5",
			      "1-2",
			      "",
			      "e",
			      "0x10",
			      "-0.5",
			      "007" };
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_true(allo_json_text_u64(allo_text_of(good[i].text), &value));
		assert_true(value == good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(allo_json_text_u64(allo_text_of(bad[i]), &value));
}

static void a_thousand_times_as_much_is_exact(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(allo_json_text_thousands(ALLO_TEXT("10.5"), &value));
	assert_int_equal(value, 10500);
	assert_true(allo_json_text_thousands(ALLO_TEXT("648497479071.7506"), &value));
	assert_int_equal(value, 648497479071751);
	assert_true(allo_json_text_thousands(ALLO_TEXT("1e-3"), &value));
	assert_int_equal(value, 1);
	assert_true(allo_json_text_thousands(ALLO_TEXT("7"), &value));
	assert_int_equal(value, 7000);
	assert_false(allo_json_text_thousands(ALLO_TEXT("18446744073709551615"), &value));
	assert_false(allo_json_text_thousands(ALLO_TEXT("-1"), &value));
	assert_false(allo_json_text_thousands(ALLO_TEXT("x"), &value));
}

/* Wherever in a string it stands, and whatever stands around it. */
static void the_end_of_a_string_is_found_anywhere(void **state)
{
	const unsigned char around[] = { 'a',  0x20, 0x21, 0x23, 0x5b, 0x5d,
					 0x7f, 0x80, 0xa2, 0xdc, 0xff };
	const struct {
		const char *text;
		bool is_good;
	} ends[] = { { "\"", true },
		     { "\\n\"", true },
		     { "\x1f\"", false },
		     { "\n\"", false },
		     { "", false } };

	(void)state;
	for (size_t length = 0; length < 20; length++) {
		for (size_t i = 0; i < sizeof(around) * sizeof(ends) / sizeof(*ends); i++) {
			ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
			ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };
			struct allo_error err = { 0 };
			struct allo_text value;
			char text[32] = "\"";

			memset(text + 1, around[i % sizeof(around)], length);
			strcpy(text + 1 + length, ends[i / sizeof(around)].text);
			assert_true(allo_input_open_memory(&in, "test", text, strlen(text), &err));
			assert_int_equal(allo_json_string(&json, &value, &err),
					 ends[i / sizeof(around)].is_good);
			if (ends[i / sizeof(around)].is_good)
				assert_int_equal(value.len, length + (i / sizeof(around) == 1));
		}
	}
}

/* How many items of the outermost array can be read; -1 at failure. */
static int count_items(const char *text, bool has_open_arrays)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_json_done)
	struct allo_json json = { .in = &in, .has_open_arrays = has_open_arrays };
	struct allo_error err = { 0 };
	int count = 0;

	assert_true(allo_input_open_memory(&in, "test", text, strlen(text), &err));
	if (!allo_json_begin(&json, '[', &err))
		return -1;
	while (allo_json_item(&json, &err)) {
		if (!allo_json_skip(&json, &err))
			return -1;
		count++;
	}
	return allo_failed(&err) || !allo_json_end(&json, &err) ? -1 : count;
}

static void arrays_may_be_left_open_where_that_is_asked_for(void **state)
{
	const struct {
		const char *text;
		int count;
	} open[] = { { "[1, 2,]", 2 }, { "[1, 2,", 2 },  { "[1, 2", 2 },   { "[", 0 },
		     { "[[1,],", 1 },  { "[1, [2", -1 }, { "[1,,2]", -1 }, { "[1, {\"a\":", -1 },
		     { "[,]", -1 },    { "[1] 2", -1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++) {
		assert_int_equal(count_items(open[i].text, true), open[i].count);
		assert_int_equal(count_items(open[i].text, false), -1);
	}
	assert_int_equal(count_items("[1, [2], 3]", false), 3);
}

/* Wherever a window ends, the pieces are the same. */
static void pieces_may_come_byte_by_byte(void **state)
{
	const char text[] =
		"{\"k\\u00e9y\" : [12.5e1, \"\\ud83d\\ude00 z\", true, null], \"b\":false}";
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	if (fork() == 0) {
		close(ends[0]);
		for (size_t i = 0; i < strlen(text); i++) {
			if (write(ends[1], text + i, 1) != 1)
				_exit(1);
			sched_yield();
		}
		_exit(0);
	}
	close(ends[1]);
	{
		ALLO_DEFER(allo_input_close)
		struct allo_input in = { .fd = ends[0], .name = "pipe" };
		ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };
		struct allo_error err = { 0 };
		struct allo_text key, value;
		bool flag = true;

		assert_true(allo_json_begin(&json, '{', &err));
		assert_true(allo_json_key(&json, &key, &err));
		assert_text_equal(key, "k\xc3\xa9y");
		assert_true(allo_json_begin(&json, '[', &err));
		assert_true(allo_json_item(&json, &err));
		assert_true(allo_json_number(&json, &value, &err));
		assert_text_equal(value, "12.5e1");
		assert_true(allo_json_item(&json, &err));
		assert_true(allo_json_string(&json, &value, &err));
		assert_text_equal(value, "\xf0\x9f\x98\x80 z");
		assert_true(allo_json_item(&json, &err) && allo_json_skip(&json, &err));
		assert_true(allo_json_item(&json, &err) && allo_json_skip(&json, &err));
		assert_false(allo_json_item(&json, &err));
		assert_true(allo_json_key(&json, &key, &err));
		assert_true(allo_json_bool(&json, &flag, &err));
		assert_false(flag);
		assert_false(allo_json_key(&json, &key, &err));
		assert_true(allo_json_end(&json, &err));
	}
	close(ends[0]);
	wait(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_documents_are_stepped_over),
		cmocka_unit_test(broken_documents_are_refused),
		cmocka_unit_test(a_million_brackets_are_too_deep),
		cmocka_unit_test(places_are_lines_and_bytes),
		cmocka_unit_test(escapes_are_undone),
		cmocka_unit_test(numbers_are_exact_or_rounded_or_refused),
		cmocka_unit_test(rounding_is_exact_up_to_the_last_number),
		cmocka_unit_test(a_thousand_times_as_much_is_exact),
		cmocka_unit_test(the_end_of_a_string_is_found_anywhere),
		cmocka_unit_test(arrays_may_be_left_open_where_that_is_asked_for),
		cmocka_unit_test(pieces_may_come_byte_by_byte),
	};

	return cmocka_run_group_tests_name("json_read", tests, NULL, NULL);
}
