/* test_name_pattern.c - run/name_pattern.h. */
#include "check.h"
#include "scratch.h"

#include "base/defer.h"
#include "run/name_pattern.h"

#include <stdlib.h>
#include <sys/stat.h>

static void assert_prepared(const char *given, const char *expected)
{
	struct allo_error err = { 0 };
	ALLO_DEFER(allo_free_pointer) char *pattern = allo_name_pattern_prepare(given, &err);

	assert_string_equal(err.message, "");
	assert_non_null(pattern);
	assert_string_equal(pattern, expected);
}

static void patterns_become_absolute(void **state)
{
	struct scratch *scratch = *state;
	char expected[400];

	assert_int_equal(chdir(scratch->folder), 0);
	snprintf(expected, sizeof(expected), "%s/%%e.%%p.allo", scratch->folder);
	assert_prepared("%e.%p.allo", expected);
	assert_prepared(expected, expected);
	assert_int_equal(chdir("/"), 0);
}

static void the_directory_stands_for_itself(void **state)
{
	struct scratch *scratch = *state;
	char expected[400];

	assert_int_equal(chdir(scratch->folder), 0);
	assert_int_equal(mkdir("50%p", 0755), 0);
	assert_int_equal(chdir("50%p"), 0);
	snprintf(expected, sizeof(expected), "%s/50%%%%p/x.allo", scratch->folder);
	assert_prepared("x.allo", expected);
	assert_int_equal(chdir(".."), 0);
	assert_int_equal(rmdir("50%p"), 0);
	assert_int_equal(chdir("/"), 0);
}

static void directories_are_made(void **state)
{
	struct scratch *scratch = *state;
	char expected[400];

	assert_int_equal(chdir(scratch->folder), 0);
	snprintf(expected, sizeof(expected), "%s/a/b//%%e.%%p.allo", scratch->folder);
	assert_prepared("a/b/", expected);
	assert_int_equal(access("a/b", F_OK), 0);
	snprintf(expected, sizeof(expected), "%s/a/%%e.%%p.allo", scratch->folder);
	assert_prepared("a", expected);
	snprintf(expected, sizeof(expected), "%s/a/c%%%%/x", scratch->folder);
	assert_prepared("a/c%%/x", expected);
	assert_int_equal(access("a/c%", F_OK), 0);
	assert_int_equal(rmdir("a/c%") + rmdir("a/b") + rmdir("a"), 0);
	assert_int_equal(chdir("/"), 0);
}

static void nonsense_is_refused(void **state)
{
	static const char *const wrong[] = { "",    "-",    "%",      "x%",    "%x.allo",
					     "%%%", "%p/x", "a/%e/x", "%n/%p", "%t/x.allo" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct allo_error err = { 0 };

		assert_null(allo_name_pattern_prepare(wrong[i], &err));
		assert_int_equal(err.code, ALLO_USAGE);
		assert_true(err.hint[0] != '\0');
	}
}

static void a_file_is_no_directory(void **state)
{
	struct scratch *scratch = *state;
	struct allo_error err = { 0 };
	char given[400];

	snprintf(given, sizeof(given), "%s/deeper/x.allo", scratch_write(scratch, "file", "", 0));
	assert_null(allo_name_pattern_prepare(given, &err));
	assert_int_equal(err.code, ALLO_IO);
}

static void assert_expanded(const char *pattern, const char *expected)
{
	struct allo_error err = { 0 };
	ALLO_DEFER(allo_free_pointer)
	char *path = allo_name_pattern_expand(pattern, "/usr/bin/tool", &err);

	assert_false(allo_failed(&err));
	if (!expected) {
		assert_null(path);
		return;
	}
	assert_non_null(path);
	assert_string_equal(path, expected);
}

static void names_are_known_beforehand_or_not(void **state)
{
	char host[256] = "", expected[300];

	(void)state;
	assert_expanded("/x/plain", "/x/plain");
	assert_expanded("/x/%e.%%p", "/x/tool.%p");
	assert_expanded("/x/%p", NULL);
	assert_expanded("/x/%e.%t", NULL);
	assert_expanded("/x/%n", NULL);
	gethostname(host, sizeof(host) - 1);
	snprintf(expected, sizeof(expected), "/%s", host);
	assert_expanded("/%h", expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(patterns_become_absolute),
		SCRATCH_TEST(the_directory_stands_for_itself),
		SCRATCH_TEST(directories_are_made),
		SCRATCH_TEST(nonsense_is_refused),
		SCRATCH_TEST(a_file_is_no_directory),
		SCRATCH_TEST(names_are_known_beforehand_or_not),
	};

	return cmocka_run_group_tests_name("name_pattern", tests, NULL, NULL);
}
