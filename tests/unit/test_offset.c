/* test_offset.c - base/io/offset.h. */
#include "check.h"
#include "random.h"

#include "base/io/offset.h"

/* Byte by byte. */
static struct allo_pos plain_pos(const char *text, size_t offset)
{
	struct allo_pos pos = { "f", 1, 1 };

	for (size_t i = 0; i < offset; i++) {
		pos.byte++;
		if (text[i] == '\n') {
			pos.line++;
			pos.byte = 1;
		}
	}
	return pos;
}

static void assert_pos_equal(struct allo_pos pos, struct allo_pos expected)
{
	assert_string_equal(pos.file, expected.file);
	assert_int_equal(pos.line, expected.line);
	assert_int_equal(pos.byte, expected.byte);
}

static void the_start_is_line_1_byte_1(void **state)
{
	(void)state;
	assert_pos_equal(allo_offset_pos((struct allo_offset){ 0 }, "f"),
			 (struct allo_pos){ "f", 1, 1 });
}

static void steps_of_any_size_lead_to_the_same_place(void **state)
{
	static char text[5000];
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++) /* first many newlines, then fewer */
		text[i] = draw(&seed, 1 + (uint32_t)i / 50) == 0 ? '\n' : 'x';
	for (int round = 0; round < 50; round++) {
		struct allo_offset place = { 0 };

		while (place.offset < sizeof(text)) {
			size_t left = sizeof(text) - (size_t)place.offset;
			size_t step = draw(&seed, 1000) % (left + 1);

			allo_offset_advance(&place,
					    (struct allo_text){ text + place.offset, step });
			assert_pos_equal(allo_offset_pos(place, "f"),
					 plain_pos(text, (size_t)place.offset));
			if (left == 1)
				break;
		}
	}
}

static void ways_add_up(void **state)
{
	const char *parts[] = { "abc", "d\nef", "", "\n\n", "gh", "i\n" };
	struct allo_offset whole = { 0 }, sum = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct allo_offset way = { 0 };

		allo_offset_advance(&way, allo_text_of(parts[i]));
		allo_offset_add(&sum, way);
		allo_offset_advance(&whole, allo_text_of(parts[i]));
		assert_pos_equal(allo_offset_pos(sum, "f"), allo_offset_pos(whole, "f"));
	}
	assert_int_equal(sum.offset, whole.offset);
}

static void more_than_255_newlines_in_a_row_are_counted(void **state)
{
	static char newlines[1000];
	struct allo_offset place = { 0 };

	(void)state;
	memset(newlines, '\n', sizeof(newlines));
	allo_offset_advance(&place, (struct allo_text){ newlines, sizeof(newlines) });
	assert_pos_equal(allo_offset_pos(place, "f"), (struct allo_pos){ "f", 1001, 1 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_start_is_line_1_byte_1),
		cmocka_unit_test(steps_of_any_size_lead_to_the_same_place),
		cmocka_unit_test(ways_add_up),
		cmocka_unit_test(more_than_255_newlines_in_a_row_are_counted),
	};

	return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
