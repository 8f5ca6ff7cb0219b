/* test_error.c - base/error.h. */
#include "check.h"

#include "base/error.h"

#include <errno.h>

static void the_first_failure_stays(void **state)
{
	struct allo_error err = { 0 };

	(void)state;
	assert_false(allo_failed(&err));
	assert_false(allo_hint(&err, "no failure, no hint"));
	assert_string_equal(err.hint, "");
	assert_false(allo_fail(&err, ALLO_FORMAT, (struct allo_pos){ "f", 2, 3 }, "number %d", 7));
	assert_false(allo_fail(&err, ALLO_IO, ALLO_NOWHERE, "later"));
	assert_false(allo_hint(&err, "first"));
	assert_false(allo_hint(&err, "second"));
	assert_int_equal(err.code, ALLO_FORMAT);
	assert_int_equal(err.pos.line, 2);
	assert_string_equal(err.message, "number 7");
	assert_string_equal(err.hint, "first");
}

static void what_is_too_long_is_cut(void **state)
{
	struct allo_error err = { 0 };
	char lots[2000];

	(void)state;
	memset(lots, 'x', sizeof(lots) - 1);
	lots[sizeof(lots) - 1] = '\0';
	allo_fail(&err, ALLO_FORMAT, ALLO_NOWHERE, "%s", lots);
	allo_hint(&err, "%s", lots);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
}

static void the_system_gives_reasons(void **state)
{
	struct allo_error io = { 0 }, memory = { 0 }, ours = { 0 };

	(void)state;
	errno = ENOENT;
	assert_false(allo_fail_errno(&io, "file", "open"));
	assert_int_equal(io.code, ALLO_IO);
	assert_string_equal(io.pos.file, "file");
	assert_string_equal(io.message, "cannot open: No such file or directory");
	errno = ENOMEM;
	assert_false(allo_fail_errno(&memory, "file", "open"));
	assert_int_equal(memory.code, ALLO_NOMEM);
	assert_false(allo_fail_memory(&ours));
	assert_int_equal(ours.code, ALLO_NOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_failure_stays),
		cmocka_unit_test(what_is_too_long_is_cut),
		cmocka_unit_test(the_system_gives_reasons),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
