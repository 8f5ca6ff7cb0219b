/* test_protobuf.c - base/encoding/protobuf.h. */
#include "check.h"
#include "random.h"

#include "base/defer.h"
#include "base/encoding/protobuf.h"

static uint64_t any_number(uint64_t *seed)
{
	return draw_u64(seed) >> draw(seed, 64);
}

static void varints_come_back_and_have_the_size_foretold(void **state)
{
	uint64_t seed = 43;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t number = i < 200 ? (uint64_t)i : any_number(&seed), back;
		char bytes[ALLO_VARINT_MAX];
		size_t len = (size_t)(allo_put_varint(bytes, number) - bytes);
		struct allo_text text = { bytes, len };

		assert_int_equal(len, allo_varint_size(number));
		assert_true(allo_take_varint(&text, &back));
		assert_true(back == number);
		assert_int_equal(text.len, 0);
		text = (struct allo_text){ bytes, len - 1 };
		assert_false(allo_take_varint(&text, &back));
	}
}

static void numbers_of_more_than_64_bits_are_refused(void **state)
{
	struct allo_text most = ALLO_TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	struct allo_text over = ALLO_TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
	struct allo_text endless = ALLO_TEXT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
	uint64_t value;

	(void)state;
	assert_true(allo_take_varint(&most, &value));
	assert_true(value == UINT64_MAX);
	assert_false(allo_take_varint(&over, &value));
	assert_false(allo_take_varint(&endless, &value));
	assert_int_equal(over.len, 10);
}

static void numbers_done(allo_numbers *numbers)
{
	allo_vec_done(numbers);
}

static void a_packed_list_is_the_same_as_one_by_one(void **state)
{
	uint64_t seed = 47;

	(void)state;
	for (int round = 0; round < 1000; round++) {
		uint64_t numbers[50];
		size_t count = draw(&seed, 50);
		char bytes[500], *end = bytes;
		struct allo_field field = { .wire = ALLO_WIRE_BYTES, .bytes.data = bytes };
		ALLO_DEFER(numbers_done) allo_numbers back = { 0 };
		struct allo_error err = { 0 };

		for (size_t i = 0; i < count; i++) {
			numbers[i] = any_number(&seed);
			end = allo_put_varint(end, numbers[i]);
		}
		field.bytes.len = (size_t)(end - bytes);
		assert_true(allo_field_numbers(&field, &back, &err));
		assert_int_equal(back.len, count);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(back.at[i], numbers[i]);
		field.bytes.len--;
		if (count > 0 && numbers[count - 1] >= 0x80)
			assert_false(allo_field_numbers(&field, &back, &err));
	}
}

static void fields_of_all_kinds_are_taken(void **state)
{
	struct allo_text message = ALLO_TEXT("\x08\x96\x01"
					     "\x12\x03"
					     "abc"
					     "\x19"
					     "12345678"
					     "\x25"
					     "1234"
					     "\xfa\x01\x00");
	struct allo_field field;

	(void)state;
	assert_true(allo_take_field(&message, &field));
	assert_int_equal(field.number, 1);
	assert_int_equal(field.wire, ALLO_WIRE_VARINT);
	assert_int_equal(field.value, 150);
	assert_true(allo_take_field(&message, &field));
	assert_int_equal(field.number, 2);
	assert_text_equal(field.bytes, "abc");
	assert_true(allo_take_field(&message, &field));
	assert_text_equal(field.bytes, "12345678");
	assert_true(allo_take_field(&message, &field));
	assert_text_equal(field.bytes, "1234");
	assert_true(allo_take_field(&message, &field));
	assert_int_equal(field.number, 31);
	assert_int_equal(field.bytes.len, 0);
	assert_int_equal(message.len, 0);
}

static void damaged_fields_are_refused(void **state)
{
	/* Field 0, a key of more than 32 bits, groups, unknown kinds, cut off everywhere. */
	const struct allo_text bad[] = {
		ALLO_TEXT_INIT("\x00\x01"),
		ALLO_TEXT_INIT("\x88\x80\x80\x80\x80\x01\x01"),
		ALLO_TEXT_INIT("\x0b"),
		ALLO_TEXT_INIT("\x0c"),
		ALLO_TEXT_INIT("\x0e"),
		ALLO_TEXT_INIT("\x0f"),
		ALLO_TEXT_INIT("\x08"),
		ALLO_TEXT_INIT("\x08\x80"),
		ALLO_TEXT_INIT("\x0a"),
		ALLO_TEXT_INIT("\x0a\x05"
			       "abcd"),
		ALLO_TEXT_INIT("\x09"
			       "1234567"),
		ALLO_TEXT_INIT("\x0d"
			       "123"),
		ALLO_TEXT_INIT("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct allo_text message = bad[i];
		struct allo_field field;

		assert_false(allo_take_field(&message, &field));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints_come_back_and_have_the_size_foretold),
		cmocka_unit_test(numbers_of_more_than_64_bits_are_refused),
		cmocka_unit_test(a_packed_list_is_the_same_as_one_by_one),
		cmocka_unit_test(fields_of_all_kinds_are_taken),
		cmocka_unit_test(damaged_fields_are_refused),
	};

	return cmocka_run_group_tests_name("protobuf", tests, NULL, NULL);
}
