/* test_folded_stacks.c - readers/folded_stacks.h. */
#include "check.h"
#include "random.h"

#include "base/defer.h"
#include "readers/folded_stacks.h"

#include <stdio.h>

enum { LONGEST = 8192 };

/* The plain way: name by name. */
static allo_stack_id plain_stack(struct allo_profile *profile, struct allo_text text,
				 struct allo_error *err)
{
	struct allo_text name;
	allo_stack_id stack = 0;

	while (allo_text_next(&text, ';', &name)) {
		if (name.len > 0)
			stack = allo_profile_add_stack(
				profile, stack, allo_profile_add_named_frame(profile, name, err),
				err);
	}
	return stack;
}

/* Mostly a few short names; now and then very many, long ones, or empty ones. */
static size_t draw_stack(uint64_t *seed, char *text)
{
	size_t depth = draw(seed, 20) ? draw(seed, 16) : draw(seed, 200), len = 0;
	bool has_empty = draw(seed, 10) == 0, has_long = draw(seed, 10) == 0;
	uint32_t choice = draw(seed, 2) ? 2 : 100;

	for (size_t i = 0; i < depth; i++) {
		unsigned number = draw(seed, choice);

		if (i > 0)
			text[len++] = ';';
		if (!has_empty || draw(seed, 3) > 0)
			len += (size_t)snprintf(text + len, 40, has_long ? "%030u" : "f%u", number);
	}
	return len;
}

static void assert_same_stacks(const struct allo_profile *a, const struct allo_profile *b)
{
	assert_int_equal(a->frames.len, b->frames.len);
	assert_int_equal(a->stacks.len, b->stacks.len);
	assert_memory_equal(a->stacks.at, b->stacks.at, a->stacks.len * sizeof(*a->stacks.at));
}

static void texts_are_the_stacks_of_their_names(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 }, plain = { 0 };
	ALLO_DEFER(allo_folded_stacks_done)
	struct allo_folded_stacks stacks = { .profile = &profile };
	static char bytes[ALLO_FOLDED_TOGETHER][LONGEST];
	struct allo_error err = { 0 };
	uint64_t seed = 71;

	(void)state;
	assert_true(allo_folded_stacks_init(&stacks, &err));
	for (int round = 0; round < 5000; round++) {
		struct allo_folded_text texts[ALLO_FOLDED_TOGETHER];
		size_t count = draw(&seed, ALLO_FOLDED_TOGETHER + 1);

		for (size_t i = 0; i < count; i++) {
			texts[i].text = (struct allo_text){ bytes[i], draw_stack(&seed, bytes[i]) };
			texts[i].hash = allo_folded_stacks_hash(&stacks, texts[i].text);
			texts[i].stack = 0;
		}
		assert_true(allo_folded_stacks_add(&stacks, texts, count, &err));
		for (size_t i = 0; i < count; i++)
			assert_int_equal(texts[i].stack, plain_stack(&plain, texts[i].text, &err));
	}
	assert_same_stacks(&profile, &plain);
}

/* Each text is the beginning of the next one, or the other way round. */
static void beginnings_are_callers_in_any_order(void **state)
{
	static const char text[] = "a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p;q;r;s;t";

	(void)state;
	for (int round = 0; round < 2; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_folded_stacks_done)
		struct allo_folded_stacks stacks = { .profile = &profile };
		struct allo_error err = { 0 };

		assert_true(allo_folded_stacks_init(&stacks, &err));
		for (size_t i = 1; i <= 20; i++) {
			size_t depth = round ? 21 - i : i;
			struct allo_folded_text one = { .text = { text, 2 * depth - 1 } };

			one.hash = allo_folded_stacks_hash(&stacks, one.text);
			for (int again = 0; again < 3; again++) {
				assert_true(allo_folded_stacks_add(&stacks, &one, 1, &err));
				assert_int_equal(one.stack, depth);
			}
		}
		assert_int_equal(profile.stacks.len, 21);
	}
}

/* A name's place is that in the file, also where empty names are left out before it. */
static void a_bad_name_after_empty_ones_has_its_position(void **state)
{
	static const char text[] = "a;;b;b\xff;c";
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_folded_stacks_done)
	struct allo_folded_stacks stacks = { .in = &in, .profile = &profile };
	struct allo_error err = { 0 };
	struct allo_folded_text one;

	(void)state;
	assert_true(allo_input_open_memory(&in, "x.folded", text, sizeof(text) - 1, &err));
	assert_true(allo_folded_stacks_init(&stacks, &err));
	one.text = (struct allo_text){ in.next, sizeof(text) - 1 };
	one.hash = allo_folded_stacks_hash(&stacks, one.text);
	assert_true(allo_folded_stacks_add(&stacks, &one, 1, &err));
	assert_int_equal(one.stack, 4);
	assert_int_equal(profile.notes.of[ALLO_NOTE_BAD_UTF8].count, 1);
	assert_int_equal(profile.notes.of[ALLO_NOTE_BAD_UTF8].first.byte, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_the_stacks_of_their_names),
		cmocka_unit_test(beginnings_are_callers_in_any_order),
		cmocka_unit_test(a_bad_name_after_empty_ones_has_its_position),
	};

	return cmocka_run_group_tests_name("folded_stacks", tests, NULL, NULL);
}
