/* test_control_message.c - wire/control_message.h: writing and parsing messages. */
#include "check.h"

#include "random.h"
#include "wire/control_message.h"

#include <stdlib.h>

static void a_written_message_is_read_back(void **state)
{
	static const char *const values[] = {
		"plain", "", "a\nb", "\\", "\\n", "\n\n\\\\\n", " x "
	};
	struct allo_message message;
	char *rest = message.at, *line;

	(void)state;
	allo_message_begin(&message, "start");
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		allo_message_add(&message, "key", values[i]);
	allo_message_end(&message);
	assert_false(message.is_cut);
	assert_true(allo_message_is_whole(message.at, message.len));
	assert_string_equal(allo_message_what(allo_message_line(&rest)), "start");
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		line = allo_message_line(&rest);
		assert_non_null(line);
		assert_string_equal(allo_message_value(line), values[i]);
		assert_string_equal(line, "key");
	}
	assert_null(allo_message_line(&rest));
}

static void a_message_that_is_too_long_is_noticed(void **state)
{
	static char value[ALLO_MESSAGE_MAX];
	struct allo_message message;

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	allo_message_begin(&message, "mark");
	allo_message_add(&message, "name", value);
	assert_true(message.is_cut);
	assert_true(message.len <= ALLO_MESSAGE_MAX);
}

static void other_versions_are_recognized(void **state)
{
	char same[] = "allo 1 status", later[] = "allo 12 status", other[] = "GET / HTTP/1.1";

	(void)state;
	assert_string_equal(allo_message_what(same), "status");
	assert_null(allo_message_what(later));
	assert_null(allo_message_what(other));
	assert_null(allo_message_what(NULL));
}

/* Sanitizers detect reads beyond the end. */
static void any_input_can_be_parsed(void **state)
{
	static const char letters[] = "allo 1\n\\ nk\0";
	uint64_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		size_t len = draw(&random, 60);
		char *text = malloc(len + 1), *rest = text, *line;

		assert_non_null(text);
		for (size_t i = 0; i < len; i++)
			text[i] = letters[draw(&random, sizeof(letters))];
		text[len] = '\0';
		allo_message_what(allo_message_line(&rest));
		while ((line = allo_message_line(&rest)) != NULL)
			assert_true(strlen(allo_message_value(line)) < len);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_written_message_is_read_back),
		cmocka_unit_test(a_message_that_is_too_long_is_noticed),
		cmocka_unit_test(other_versions_are_recognized),
		cmocka_unit_test(any_input_can_be_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
