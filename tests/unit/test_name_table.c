/* test_name_table.c - tables of names: they return every name, and notice damage. */
#include "check.h"

#include "base/defer.h"
#include "profile/name_table.h"

static allo_function_id add_function(struct allo_profile *profile, const char *name,
				     const char *system_name, const char *file, uint32_t start_line)
{
	struct allo_error err = { 0 };
	struct allo_function function = {
		.name = allo_profile_add_string(profile, allo_text_of(name), &err),
		.system_name = allo_profile_add_string(profile, allo_text_of(system_name), &err),
		.file = allo_profile_add_string(profile, allo_text_of(file), &err),
		.start_line = start_line,
	};

	return allo_profile_add_function(profile, &function, &err);
}

/* Two addresses: one of two lines, one that is known to have none. */
static void make_table(allo_name_bytes *table)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_name_writer_done)
	struct allo_name_writer writer = { .profile = &profile,
					   .path = ALLO_TEXT("/opt/lib;x.so"),
					   .build_id = ALLO_TEXT("00ff") };
	struct allo_error err = { 0 };
	struct allo_line lines[2] = {
		{ add_function(&profile, "a(int)", "_Z1ai", "/src/a.cc", 3), 7, 9 },
		{ add_function(&profile, "odd \xff\n", "", "", 0), 0, 0 },
	};

	assert_true(allo_name_writer_add(&writer, 0x1000, lines, 2, &err));
	assert_true(allo_name_writer_add(&writer, UINT64_MAX, NULL, 0, &err));
	assert_true(allo_name_writer_finish(&writer, table, &err));
}

static void check_text(const struct allo_profile *profile, allo_string_id id, const char *expected)
{
	assert_true(allo_text_equal(allo_profile_text(profile, id), allo_text_of(expected)));
}

static void names_come_back(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_name_reader_done) struct allo_name_reader reader = { 0 };
	allo_name_bytes table = { 0 };
	struct allo_error err = { 0 };
	const struct allo_line *lines;
	struct allo_name_row row;

	(void)state;
	make_table(&table);
	assert_true(allo_name_reader_open(&reader, &profile,
					  (struct allo_text){ table.at, table.len }, &err));
	assert_true(allo_text_equal(reader.path, ALLO_TEXT("/opt/lib;x.so")));
	assert_true(allo_text_equal(reader.build_id, ALLO_TEXT("00ff")));
	assert_true(allo_name_reader_next(&reader, &row, &err));
	assert_int_equal(row.address, 0x1000);
	assert_int_equal(row.line_count, 2);
	lines = allo_name_reader_take(&reader, &err);
	check_text(&profile, profile.functions.at[lines[0].function].name, "a(int)");
	check_text(&profile, profile.functions.at[lines[0].function].system_name, "_Z1ai");
	check_text(&profile, profile.functions.at[lines[0].function].file, "/src/a.cc");
	assert_int_equal(profile.functions.at[lines[0].function].start_line, 3);
	assert_int_equal(lines[0].line, 7);
	assert_int_equal(lines[0].column, 9);
	check_text(&profile, profile.functions.at[lines[1].function].name, "odd \xff\n");
	assert_int_equal(profile.functions.at[lines[1].function].file, 0);
	assert_true(allo_name_reader_next(&reader, &row, &err));
	assert_true(row.address == UINT64_MAX && row.line_count == 0);
	assert_false(allo_name_reader_next(&reader, &row, &err));
	assert_int_equal(reader.rows_left, 0);
	allo_vec_done(&table);
}

/* Whether all rows can be read. */
static bool is_whole(struct allo_text bytes)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_name_reader_done) struct allo_name_reader reader = { 0 };
	struct allo_error err = { 0 };
	struct allo_name_row row;

	if (!allo_name_reader_open(&reader, &profile, bytes, &err))
		return false;
	while (allo_name_reader_next(&reader, &row, &err))
		allo_name_reader_take(&reader, &err);
	return reader.rows_left == 0;
}

static void a_cut_table_is_noticed(void **state)
{
	allo_name_bytes table = { 0 };

	(void)state;
	make_table(&table);
	assert_true(is_whole((struct allo_text){ table.at, table.len }));
	for (size_t len = 0; len < table.len; len++)
		assert_false(is_whole((struct allo_text){ table.at, len }));
	allo_vec_done(&table);
}

static void numbers_that_refer_to_nothing_are_noticed(void **state)
{
	/* A path, a build-id, a string "f", a function, a row of one line. */
	char table[] = { 1, 'p', 1, 'b', 1, 1, 'f', 1, 1, 0, 0, 0, 1, 4, 1, 1, 5, 0 };
	const struct allo_text bytes = { table, sizeof(table) };
	const size_t name = 8, file = 10, function = 15;

	(void)state;
	assert_true(is_whole(bytes));
	table[name] = 0; /* functions have names */
	assert_false(is_whole(bytes));
	table[name] = 2;
	assert_false(is_whole(bytes));
	table[name] = 1;
	table[file] = 2;
	assert_false(is_whole(bytes));
	table[file] = 0;
	table[function] = 0;
	assert_false(is_whole(bytes));
	table[function] = 2;
	assert_false(is_whole(bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_back),
		cmocka_unit_test(a_cut_table_is_noticed),
		cmocka_unit_test(numbers_that_refer_to_nothing_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
