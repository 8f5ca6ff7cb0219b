/* test_utf16.c - base/encoding/utf16.h. */
#include "check.h"

#include "base/encoding/utf16.h"

/* Decodes in pieces of `piece` bytes, into rooms of `room` bytes. */
static void assert_decodes(struct allo_text text, const char *expected, size_t piece, size_t room)
{
	struct allo_utf16 decoder = { 0 };
	char out[256];
	size_t made = 0;

	assert_true(allo_utf16_has_mark(text, &decoder.is_big_endian));
	while (text.len > 0) {
		struct allo_text part = { text.data, text.len < piece ? text.len : piece };
		size_t size = part.len;

		made += allo_utf16_decode(&decoder, &part, out + made, room);
		text = allo_text_from(text, size - part.len);
	}
	for (size_t more = 1; more > 0; made += more) {
		struct allo_text nothing = { "", 0 };

		more = allo_utf16_decode(&decoder, &nothing, out + made, room);
	}
	assert_int_equal(made, strlen(expected));
	assert_memory_equal(out, expected, made);
}

static void assert_all_decode(struct allo_text text, const char *expected)
{
	for (size_t piece = 1; piece < 8; piece++) {
		for (size_t room = 1; room < 8; room++)
			assert_decodes(text, expected, piece, room);
	}
}

static void both_byte_orders_are_read(void **state)
{
	(void)state;
	assert_all_decode(ALLO_TEXT("\xff\xfe"
				    "a\0\xfc\0\xac\x20"),
			  "a\xc3\xbc\xe2\x82\xac");
	assert_all_decode(ALLO_TEXT("\xfe\xff\0a\0\xfc\x20\xac"), "a\xc3\xbc\xe2\x82\xac");
}

static void pairs_are_one_character(void **state)
{
	(void)state;
	assert_all_decode(ALLO_TEXT("\xff\xfe\x35\xd8\xfc\xde"), "\xf0\x9d\x9b\xbc");
}

static void half_a_pair_is_replaced(void **state)
{
	(void)state;
	assert_all_decode(ALLO_TEXT("\xff\xfe\x35\xd8"
				    "a\0\xfc\xde"),
			  "\xef\xbf\xbd"
			  "a\xef\xbf\xbd");
	assert_all_decode(ALLO_TEXT("\xff\xfe\x35\xd8\x35\xd8\xfc\xde"),
			  "\xef\xbf\xbd\xf0\x9d\x9b\xbc");
}

static void other_texts_have_no_mark(void **state)
{
	bool is_big_endian;

	(void)state;
	assert_false(allo_utf16_has_mark(ALLO_TEXT("main;a 1"), &is_big_endian));
	assert_false(allo_utf16_has_mark(ALLO_TEXT("\xff"), &is_big_endian));
	assert_false(allo_utf16_has_mark(ALLO_TEXT(""), &is_big_endian));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_byte_orders_are_read),
		cmocka_unit_test(pairs_are_one_character),
		cmocka_unit_test(half_a_pair_is_replaced),
		cmocka_unit_test(other_texts_have_no_mark),
	};

	return cmocka_run_group_tests_name("utf16", tests, NULL, NULL);
}
