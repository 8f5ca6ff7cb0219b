/* test_trust.c - limits that grow with the input, and --trust. */
#include "base/trust.h"
#include "check.h"

static void a_limit_grows_with_the_input(void **state)
{
	(void)state;
	assert_int_equal(allo_trust_limit(0, 100, 64), 64);
	assert_int_equal(allo_trust_limit(1, 100, 64), 100);
	assert_int_equal(allo_trust_limit(1000, 100, 64), 100000);
	assert_true(allo_trust_limit(UINT64_MAX / 2, 100, 64) == UINT64_MAX);
}

static void trusted_inputs_have_no_limit(void **state)
{
	(void)state;
	allo_trust_set(true);
	assert_true(allo_trust_limit(1, 1, 1) == UINT64_MAX);
	allo_trust_set(false);
	assert_int_equal(allo_trust_limit(1, 1, 1), 1);
}

static void the_message_names_the_next_step(void **state)
{
	struct allo_error err = { 0 };

	(void)state;
	assert_false(allo_fail_limit(&err, (struct allo_pos){ .file = "x.allo" }, "holds %d", 7));
	assert_int_equal(err.code, ALLO_LIMIT);
	assert_string_equal(err.pos.file, "x.allo");
	assert_string_equal(err.message, "holds 7");
	assert_non_null(strstr(err.hint, "--trust"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_grows_with_the_input),
		cmocka_unit_test(trusted_inputs_have_no_limit),
		cmocka_unit_test(the_message_names_the_next_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
