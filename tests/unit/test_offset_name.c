/* test_offset_name.c - profile/offset_name.h. */
#include "check.h"

#include "profile/offset_name.h"

static void a_name_has_the_module_and_the_offset(void **state)
{
	char room[ALLO_OFFSET_NAME_SIZE];

	(void)state;
	assert_text_equal(allo_offset_name(ALLO_TEXT("/usr/bin/git"), 0x1234a0, room),
			  "git+0x1234a0");
	assert_text_equal(allo_offset_name(ALLO_TEXT("a b.so"), UINT64_MAX, room),
			  "a b.so+0xffffffffffffffff");
}

static void only_names_of_the_module_count(void **state)
{
	static const struct {
		struct allo_text name, module;
		bool is;
	} cases[] = {
		{ ALLO_TEXT_INIT("git+0x1234a0"), ALLO_TEXT_INIT("/usr/bin/git"), true },
		{ ALLO_TEXT_INIT("git+0x1234a0"), ALLO_TEXT_INIT("/usr/bin/gitk"), false },
		{ ALLO_TEXT_INIT("git+0x"), ALLO_TEXT_INIT("/usr/bin/git"), false },
		{ ALLO_TEXT_INIT("git+0x12 "), ALLO_TEXT_INIT("/usr/bin/git"), false },
		{ ALLO_TEXT_INIT("git+12"), ALLO_TEXT_INIT("/usr/bin/git"), false },
		{ ALLO_TEXT_INIT("+0x12"), ALLO_TEXT_INIT(""), false },
		{ ALLO_TEXT_INIT("main"), ALLO_TEXT_INIT("/usr/bin/main"), false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(allo_is_offset_name(cases[i].name, cases[i].module), cases[i].is);
}

static void a_long_module_is_cut_and_known_again(void **state)
{
	char path[300], room[ALLO_OFFSET_NAME_SIZE];
	struct allo_text module = { path, sizeof(path) };

	(void)state;
	memset(path, 'x', sizeof(path));
	assert_true(allo_is_offset_name(allo_offset_name(module, 7, room), module));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_has_the_module_and_the_offset),
		cmocka_unit_test(only_names_of_the_module_count),
		cmocka_unit_test(a_long_module_is_cut_and_known_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
