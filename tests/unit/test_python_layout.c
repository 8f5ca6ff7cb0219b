/* test_python_layout.c - the layouts of CPython's versions, and the check against its own table. */
#include "capture/python/python_layout.h"
#include "check.h"

/* A _PyRuntime of 3.13, as far as it is read. */
struct runtime {
	char magic[8];
	uint64_t words[64];
};

static struct runtime runtime_of_3_13(void)
{
	struct runtime runtime = { .magic = "xdebugpy" };
	static const uint64_t table[][2] = {
		{ 32, 808 },  { 184, 72 },  { 232, 8 },   { 240, 0 },  { 248, 56 },  { 264, 70 },
		{ 280, 112 }, { 296, 128 }, { 304, 136 }, { 312, 68 }, { 344, 200 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		runtime.words[table[i][0] / 8 - 1] = table[i][1];
	return runtime;
}

static struct runtime runtime_of_3_14_without_gil(void)
{
	struct runtime runtime = { .magic = "xdebugpy" };
	static const uint64_t table[][2] = {
		{ 16, 1 },   { 32, 808 },  { 208, 72 },  { 256, 8 },   { 264, 0 },
		{ 272, 56 }, { 288, 78 },  { 320, 128 }, { 336, 144 }, { 344, 152 },
		{ 352, 84 }, { 384, 232 }, { 392, 224 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		runtime.words[table[i][0] / 8 - 1] = table[i][1];
	return runtime;
}

static void known_versions_have_a_layout(void **state)
{
	(void)state;
	for (unsigned minor = 10; minor <= 15; minor++)
		assert_int_equal(allo_python_layout_find(minor, false)->minor, minor);
	for (unsigned minor = 13; minor <= 15; minor++)
		assert_true(allo_python_layout_find(minor, true)->is_free_threaded);
}

static void others_have_none(void **state)
{
	(void)state;
	assert_null(allo_python_layout_find(9, false));
	assert_null(allo_python_layout_find(16, false));
	assert_null(allo_python_layout_find(12, true));
	assert_null(allo_python_layout_find(16, true));
}

static void the_table_of_the_interpreter_agrees(void **state)
{
	struct runtime runtime = runtime_of_3_13();
	const struct allo_python_layout *layout = allo_python_layout_find(13, false);

	(void)state;
	assert_true(allo_python_layout_agrees(layout, &runtime));
	assert_int_equal(allo_python_layout_finalizing(layout, &runtime), 808);
	assert_false(allo_python_is_free_threaded(13, &runtime));
}

/* A wrong offset, which makes frames wrong, must never be used. */
static void any_other_offset_is_noticed(void **state)
{
	const struct allo_python_layout *layout = allo_python_layout_find(13, false);
	static const size_t places[] = { 184, 232, 240, 248, 264, 280, 296, 304, 312, 344 };

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct runtime runtime = runtime_of_3_13();

		runtime.words[places[i] / 8 - 1] += 8;
		assert_false(allo_python_layout_agrees(layout, &runtime));
	}
}

static void other_copies_of_bytecode_are_noticed(void **state)
{
	struct runtime runtime = runtime_of_3_14_without_gil();
	const struct allo_python_layout *layout = allo_python_layout_find(14, true);

	(void)state;
	assert_true(allo_python_layout_agrees(layout, &runtime));
	runtime.words[392 / 8 - 1] += 8;
	assert_false(allo_python_layout_agrees(layout, &runtime));
}

static void only_later_builds_without_gil_have_raw_blocks(void **state)
{
	struct runtime with = runtime_of_3_13(), without = runtime_of_3_14_without_gil();

	(void)state;
	assert_true(allo_python_raw_is_malloc(12, &without));
	assert_true(allo_python_raw_is_malloc(14, &without));
	assert_true(allo_python_raw_is_malloc(15, &with));
	assert_false(allo_python_raw_is_malloc(15, &without));
}

static void a_missing_table_is_noticed(void **state)
{
	struct runtime runtime = runtime_of_3_13();

	(void)state;
	runtime.magic[0] = 'y';
	assert_false(allo_python_layout_agrees(allo_python_layout_find(13, false), &runtime));
}

static void a_build_without_gil_is_told_apart(void **state)
{
	struct runtime runtime = runtime_of_3_13();

	(void)state;
	runtime.words[1] = 1;
	assert_true(allo_python_is_free_threaded(13, &runtime));
	assert_false(allo_python_is_free_threaded(12, &runtime));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_versions_have_a_layout),
		cmocka_unit_test(others_have_none),
		cmocka_unit_test(the_table_of_the_interpreter_agrees),
		cmocka_unit_test(any_other_offset_is_noticed),
		cmocka_unit_test(other_copies_of_bytecode_are_noticed),
		cmocka_unit_test(only_later_builds_without_gil_have_raw_blocks),
		cmocka_unit_test(a_missing_table_is_noticed),
		cmocka_unit_test(a_build_without_gil_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
