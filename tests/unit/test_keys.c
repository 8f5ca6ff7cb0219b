/* test_keys.c - report/keys.h. */
#include "check.h"

#include "report/keys.h"

/* The keys of a text that is complete. */
static void assert_keys(const char *text, const int *keys, size_t count)
{
	struct allo_text bytes = allo_text_of(text);
	int key;

	for (size_t i = 0; i < count; i++) {
		assert_true(bytes.len > 0 && allo_key_take(&bytes, &key));
		assert_int_equal(key, keys[i]);
	}
	assert_int_equal(bytes.len, 0);
}

#define ASSERT_KEYS(text, ...)                                                                     \
	assert_keys(text, (const int[]){ __VA_ARGS__ },                                            \
		    sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

static void characters_are_keys(void **state)
{
	(void)state;
	ASSERT_KEYS("q/ ?", 'q', '/', ' ', '?');
	ASSERT_KEYS("\r\n\177\b", ALLO_KEY_ENTER, ALLO_KEY_ENTER, ALLO_KEY_BACKSPACE,
		    ALLO_KEY_BACKSPACE);
	ASSERT_KEYS("\xc3\xa9", 0xc3, 0xa9);
}

static void sequences_of_xterm_and_of_the_console_are_known(void **state)
{
	(void)state;
	ASSERT_KEYS("\033[A\033OB\033[C\033[D", ALLO_KEY_UP, ALLO_KEY_DOWN, ALLO_KEY_RIGHT,
		    ALLO_KEY_LEFT);
	ASSERT_KEYS("\033[5~\033[6~q", ALLO_KEY_PAGE_UP, ALLO_KEY_PAGE_DOWN, 'q');
	ASSERT_KEYS("\033[H\033[1~\033OH", ALLO_KEY_HOME, ALLO_KEY_HOME, ALLO_KEY_HOME);
	ASSERT_KEYS("\033[F\033[4~\033[8~", ALLO_KEY_END, ALLO_KEY_END, ALLO_KEY_END);
}

static void unknown_sequences_are_skipped_as_a_whole(void **state)
{
	(void)state;
	ASSERT_KEYS("\033[1;5Aq\033[15~q", ALLO_KEY_NONE, 'q', ALLO_KEY_NONE, 'q');
}

static void an_escape_before_another_character_is_the_escape_key(void **state)
{
	(void)state;
	ASSERT_KEYS("\033q", ALLO_KEY_ESCAPE, 'q');
	ASSERT_KEYS("\033\033[A", ALLO_KEY_ESCAPE, ALLO_KEY_UP);
}

static void an_unfinished_sequence_waits_for_its_rest(void **state)
{
	static const char *const unfinished[] = { "\033", "\033[", "\033O", "\033[5", "\033[1;" };

	(void)state;
	for (size_t i = 0; i < sizeof(unfinished) / sizeof(*unfinished); i++) {
		struct allo_text bytes = allo_text_of(unfinished[i]);
		int key;

		assert_false(allo_key_take(&bytes, &key));
		assert_text_equal(bytes, unfinished[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_are_keys),
		cmocka_unit_test(sequences_of_xterm_and_of_the_console_are_known),
		cmocka_unit_test(unknown_sequences_are_skipped_as_a_whole),
		cmocka_unit_test(an_escape_before_another_character_is_the_escape_key),
		cmocka_unit_test(an_unfinished_sequence_waits_for_its_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
