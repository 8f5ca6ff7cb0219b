/* test_json_write.c - base/encoding/json_write.h, and back through json_read.h. */
#include "check.h"
#include "random.h"

#include "base/defer.h"
#include "base/encoding/json_read.h"
#include "base/encoding/json_write.h"
#include "base/utf8.h"

#include <math.h>

static const struct allo_output_options plain = { .packing = ALLO_PLAIN };

static void commas_and_brackets_are_taken_care_of(void **state)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_json_out json = { .out = &out };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_output_open_memory(&out, &plain, &err));
	allo_json_out_begin(&json, '{');
	allo_json_out_key(&json, "a");
	allo_json_out_begin(&json, '[');
	allo_json_out_u64(&json, UINT64_MAX);
	allo_json_out_i64(&json, INT64_MIN);
	allo_json_out_bool(&json, true);
	allo_json_out_null(&json);
	allo_json_out_begin(&json, '{');
	allo_json_out_end(&json);
	allo_json_out_end(&json);
	allo_json_out_key_text(&json, ALLO_TEXT("b"));
	allo_json_out_double(&json, 0.5);
	allo_json_out_key(&json, "c");
	allo_json_out_double(&json, NAN);
	allo_json_out_end(&json);
	assert_true(allo_output_finish(&out, &err));
	assert_text_equal(allo_output_memory(&out),
			  "{\"a\":[18446744073709551615,-9223372036854775808,true,null,{}],"
			  "\"b\":0.5,\"c\":null}");
}

static void outer_levels_get_lines_of_their_own(void **state)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_json_out json = { .out = &out, .pretty_depth = 1 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_output_open_memory(&out, &plain, &err));
	allo_json_out_begin(&json, '{');
	allo_json_out_key(&json, "a");
	allo_json_out_begin(&json, '[');
	allo_json_out_string(&json, "x");
	allo_json_out_string(&json, "y");
	allo_json_out_end(&json);
	allo_json_out_key(&json, "b");
	allo_json_out_begin(&json, '{');
	allo_json_out_end(&json);
	allo_json_out_end(&json);
	assert_true(allo_output_finish(&out, &err));
	assert_text_equal(allo_output_memory(&out), "{\n  \"a\": [\"x\",\"y\"],\n  \"b\": {}\n}\n");
}

static void strings_of_any_bytes_come_back_as_valid_utf8(void **state)
{
	uint64_t seed = 41;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
		ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
		ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };
		struct allo_error err = { 0 };
		struct allo_text back, text;
		char bytes[40];

		text = (struct allo_text){ bytes, draw(&seed, sizeof(bytes)) };
		for (size_t i = 0; i < text.len; i++)
			bytes[i] = (char)draw(&seed, round % 2 ? 128 : 256);
		assert_true(allo_output_open_memory(&out, &plain, &err));
		allo_json_out_quoted(&out, text);
		assert_true(allo_output_finish(&out, &err));
		assert_true(allo_utf8_is_valid(allo_output_memory(&out)));
		assert_true(allo_input_open_memory(&in, "m", allo_output_memory(&out).data,
						   allo_output_memory(&out).len, &err));
		assert_true(allo_json_string(&json, &back, &err));
		assert_true(allo_json_end(&json, &err));
		if (allo_utf8_is_valid(text))
			assert_true(allo_text_equal(back, text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_and_brackets_are_taken_care_of),
		cmocka_unit_test(outer_levels_get_lines_of_their_own),
		cmocka_unit_test(strings_of_any_bytes_come_back_as_valid_utf8),
	};

	return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
