/* test_naming.c - profile/naming.h. */
#include "check.h"

#include "base/defer.h"
#include "profile/naming.h"
#include "profile/source_name.h"

static void a_base_name_has_no_folders(void **state)
{
	(void)state;
	assert_text_equal(allo_basename(ALLO_TEXT("/usr/lib/x.so")), "x.so");
	assert_text_equal(allo_basename(ALLO_TEXT("x.so")), "x.so");
	assert_text_equal(allo_basename(ALLO_TEXT("a/")), "");
	assert_text_equal(allo_basename(ALLO_TEXT("")), "");
}

static void a_file_that_each_package_has_is_shown_with_its_folder(void **state)
{
	(void)state;
	assert_text_equal(allo_source_name(ALLO_TEXT("/usr/lib/json/decoder.py")), "decoder.py");
	assert_text_equal(allo_source_name(ALLO_TEXT("/usr/lib/json/__init__.py")),
			  "json/__init__.py");
	assert_text_equal(allo_source_name(ALLO_TEXT("json/__main__.py")), "json/__main__.py");
	assert_text_equal(allo_source_name(ALLO_TEXT("/__init__.py")), "__init__.py");
	assert_text_equal(allo_source_name(ALLO_TEXT("__init__.py")), "__init__.py");
	assert_text_equal(allo_source_name(ALLO_TEXT("")), "");
}

static allo_module_id add_module(struct allo_profile *profile, const char *path)
{
	struct allo_error err = { 0 };
	struct allo_module module = { .path = allo_profile_add_string(profile, allo_text_of(path),
								      &err) };

	return allo_profile_add_module(profile, &module, &err);
}

static void what_has_no_name_is_called_by_address_and_module(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct {
		struct allo_frame frame;
		const char *name;
	} table[] = {
		{ { 0 }, "???" },
		{ { .address = 0x5a3f10 }, "0x5a3f10" },
		{ { .address = 0x10, .module = add_module(&profile, "/usr/lib/libfoo.so") },
		  "0x10 [libfoo.so]" },
		{ { .module = add_module(&profile, "/usr/lib/libfoo.so") }, "0x0 [libfoo.so]" },
		{ { .address = UINT64_MAX, .module = add_module(&profile, "") },
		  "0xffffffffffffffff" },
	};
	char scratch[ALLO_NAME_SCRATCH];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(allo_frame_call_count(&table[i].frame), 1);
		assert_text_equal(allo_call_name(&profile, &table[i].frame, 0, scratch),
				  table[i].name);
	}
}

static void a_long_module_name_is_cut(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	char path[1000], scratch[ALLO_NAME_SCRATCH];
	struct allo_frame frame = { .address = UINT64_MAX };
	struct allo_text name;

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	frame.module = add_module(&profile, path);
	name = allo_call_name(&profile, &frame, 0, scratch);
	assert_in_range(name.len, 90, ALLO_NAME_SCRATCH - 1);
	assert_int_equal(name.data[name.len - 1], ']');
}

static void each_line_is_a_call(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	struct allo_function named = {
		.name = allo_profile_add_string(&profile, ALLO_TEXT("inner"), &err),
		.file = allo_profile_add_string(&profile, ALLO_TEXT("a.c"), &err),
	};
	struct allo_function nameless = { .file = named.file };
	struct allo_line lines[] = {
		{ .function = allo_profile_add_function(&profile, &named, &err), .line = 5 },
		{ .function = allo_profile_add_function(&profile, &nameless, &err), .line = 9 },
	};
	allo_frame_id id = allo_profile_add_frame(&profile, &(struct allo_frame){ .address = 0x20 },
						  lines, 2, &err);
	const struct allo_frame *frame = &profile.frames.at[id];
	char scratch[ALLO_NAME_SCRATCH];

	(void)state;
	assert_int_equal(allo_frame_call_count(frame), 2);
	assert_text_equal(allo_call_name(&profile, frame, 0, scratch), "inner");
	assert_text_equal(allo_call_name(&profile, frame, 1, scratch), "0x20");
	assert_int_equal(allo_call_line(&profile, frame, 1).line, 9);
	assert_text_equal(allo_line_file(&profile, allo_call_line(&profile, frame, 1)), "a.c");
	assert_text_equal(allo_line_file(&profile, (struct allo_line){ 0 }), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_base_name_has_no_folders),
		cmocka_unit_test(a_file_that_each_package_has_is_shown_with_its_folder),
		cmocka_unit_test(what_has_no_name_is_called_by_address_and_module),
		cmocka_unit_test(a_long_module_name_is_cut),
		cmocka_unit_test(each_line_is_a_call),
	};

	return cmocka_run_group_tests_name("naming", tests, NULL, NULL);
}
