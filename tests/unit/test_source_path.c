/* test_source_path.c - symbols/source_path.h. */
#include "check.h"

#include "base/defer.h"
#include "symbols/source_path.h"

static void assert_joins(const char *folder, const char *file, const char *expected)
{
	ALLO_DEFER(allo_source_path_done) struct allo_source_path path = { 0 };
	struct allo_text joined;

	assert_true(
		allo_source_path_join(&path, allo_text_of(folder), allo_text_of(file), &joined));
	assert_text_equal(joined, expected);
}

static void a_file_is_in_the_folder_it_was_compiled_in(void **state)
{
	(void)state;
	assert_joins("/home/a", "main.c", "/home/a/main.c");
	assert_joins("./csu", "libc-start.c", "csu/libc-start.c");
	assert_joins("", "main.c", "main.c");
}

static void a_whole_path_needs_no_folder(void **state)
{
	(void)state;
	assert_joins("/home/a", "/usr/include/stdio.h", "/usr/include/stdio.h");
	assert_joins("relative", "/usr/include/stdio.h", "/usr/include/stdio.h");
}

static void dots_are_resolved(void **state)
{
	(void)state;
	assert_joins("/home/a/build", "../src/./main.c", "/home/a/src/main.c");
	assert_joins("./csu", "../csu/libc-start.c", "csu/libc-start.c");
	assert_joins("/a//b/", "c.c", "/a/b/c.c");
	assert_joins("a/b", "../../c.c", "c.c");
}

static void the_way_up_ends_at_the_root(void **state)
{
	(void)state;
	assert_joins("/a", "../../../b.c", "/b.c");
}

static void the_way_up_out_of_an_unknown_folder_stays(void **state)
{
	(void)state;
	assert_joins("a", "../../b/../../c.c", "../../c.c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_in_the_folder_it_was_compiled_in),
		cmocka_unit_test(a_whole_path_needs_no_folder),
		cmocka_unit_test(dots_are_resolved),
		cmocka_unit_test(the_way_up_ends_at_the_root),
		cmocka_unit_test(the_way_up_out_of_an_unknown_folder_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
