/* test_proc_maps.c - readers/proc_maps.h. */
#include "check.h"

#include "base/defer.h"
#include "readers/proc_maps.h"

static void a_line_of_linux_is_parsed(void **state)
{
	struct allo_proc_map map;

	(void)state;
	assert_true(allo_proc_map_parse(
		ALLO_TEXT("55aea3838000-55aea3839000 r-xp 00001000 fe:00 10960903    /tmp/a b.so"),
		&map));
	assert_true(map.start == 0x55aea3838000);
	assert_true(map.limit == 0x55aea3839000);
	assert_true(map.offset == 0x1000);
	assert_true(map.is_executable);
	assert_text_equal(map.path, "/tmp/a b.so");
	assert_int_equal(map.build_id.len, 0);
	assert_true(allo_proc_map_parse(
		ALLO_TEXT("7f0000000000-7f0000001000 rw-p 00000000 00:00 0 "), &map));
	assert_false(map.is_executable);
	assert_int_equal(map.path.len, 0);
}

static void a_file_that_is_gone_keeps_its_name(void **state)
{
	struct allo_proc_map map;

	(void)state;
	assert_true(allo_proc_map_parse(ALLO_TEXT("1000-2000 r-xp 0 0:0 7 /usr/bin/x (deleted)"),
					&map));
	assert_text_equal(map.path, "/usr/bin/x");
}

static void the_short_format_has_optional_parts(void **state)
{
	struct allo_proc_map map;

	(void)state;
	assert_true(allo_proc_map_parse(
		ALLO_TEXT("  0x400000-0x500000: /opt/my server (@ff00) 00ab12cd"), &map));
	assert_true(map.start == 0x400000);
	assert_true(map.offset == 0xff00);
	assert_text_equal(map.path, "/opt/my server");
	assert_text_equal(map.build_id, "00ab12cd");

	assert_true(allo_proc_map_parse(
		ALLO_TEXT("0000000100000000-0000000100004000: /Users/me/My App"), &map));
	assert_text_equal(map.path, "/Users/me/My App");
	assert_true(map.offset == 0 && map.is_executable);

	assert_true(
		allo_proc_map_parse(ALLO_TEXT("40000-80000 r-xp /bin/x 5a3f10e25a3f10e2"), &map));
	assert_text_equal(map.path, "/bin/x");
	assert_text_equal(map.build_id, "5a3f10e25a3f10e2");
}

static void other_lines_are_no_maps(void **state)
{
	static const char *const wrong[] = {
		"",
		"MAPPED_LIBRARIES:",
		"1000 r-xp 0 0:0 7 /x",
		"1000-r-xp 0 0:0 7 /x",
		"2000-1000 r-xp 0 0:0 7 /x",
		"1000-2000r-xp 0 0:0 7 /x",
		"1000-2000",
		"1000-2000:",
		"1000-2000: /x (@zz)",
		"11111111111111111-22222222222222222 r-xp 0 0:0 7 /x",
	};
	struct allo_proc_map map;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(allo_proc_map_parse(allo_text_of(wrong[i]), &map));
}

static void read_all(struct allo_proc_maps *maps, struct allo_profile *profile, const char *text)
{
	struct allo_text rest = allo_text_of(text), line;
	struct allo_error err = { 0 };

	while (allo_text_next(&rest, '\n', &line))
		assert_true(allo_proc_maps_read(maps, line, profile, &err));
	assert_true(allo_proc_maps_add_modules(maps, profile, &err));
}

static void the_program_is_the_first_module(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_proc_maps_done) struct allo_proc_maps maps = { 0 };

	(void)state;
	read_all(&maps, &profile,
		 "1000-2000 r-xp 0 0:0 1 /lib/libc.so.6\n"
		 "3000-4000 r-xp 0 0:0 0\n"
		 "5000-6000 r-xp 0 0:0 0 [vdso]\n"
		 "7000-8000 r--p 0 0:0 2 /bin/data\n"
		 "8000-9000 r-xp 0 0:0 3 /lib/libx.so\n"
		 "9000-a000 r-xp 0 0:0 4 /bin/server\n");
	assert_int_equal(profile.modules.len, 1 + 5);
	assert_text_equal(allo_profile_text(&profile, profile.modules.at[1].path), "/bin/server");
	assert_int_equal(allo_proc_maps_find(&maps, 0x9123), 1);
}

static void every_address_finds_its_module_and_no_other(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_proc_maps_done) struct allo_proc_maps maps = { 0 };
	allo_module_id low, high;

	(void)state;
	read_all(&maps, &profile,
		 "8000-9000 r-xp 0 0:0 3 /bin/high\n"
		 "1000-2000 r-xp 0 0:0 1 /bin/low\n");
	low = allo_proc_maps_find(&maps, 0x1000);
	high = allo_proc_maps_find(&maps, 0x8000);
	assert_text_equal(allo_profile_text(&profile, profile.modules.at[low].path), "/bin/low");
	assert_text_equal(allo_profile_text(&profile, profile.modules.at[high].path), "/bin/high");
	assert_int_equal(allo_proc_maps_find(&maps, 0x1fff), low);
	assert_int_equal(allo_proc_maps_find(&maps, 0x8fff), high);
	assert_int_equal(allo_proc_maps_find(&maps, 0x2000), 0);
	assert_int_equal(allo_proc_maps_find(&maps, 0x7fff), 0);
	assert_int_equal(allo_proc_maps_find(&maps, 0x9000), 0);
	assert_int_equal(allo_proc_maps_find(&maps, 0), 0);
	assert_int_equal(allo_proc_maps_find(&maps, UINT64_MAX), 0);
}

static void pieces_of_a_mapping_are_joined(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_proc_maps_done) struct allo_proc_maps maps = { 0 };
	const struct allo_module *module;

	(void)state;
	/* The second is text on huge pages; the last does not go on in the file. */
	read_all(&maps, &profile,
		 "1000-2000 r-xp 1000 0:0 1 /bin/x\n"
		 "2000-4000 r-xp 0 0:0 0\n"
		 "4000-5000 r-xp 4000 0:0 1 /bin/x\n"
		 "5000-6000 r-xp 9000 0:0 1 /bin/x\n");
	assert_int_equal(profile.modules.len, 1 + 2);
	module = &profile.modules.at[allo_proc_maps_find(&maps, 0x3000)];
	assert_true(module->start == 0x1000 && module->limit == 0x5000 && module->offset == 0x1000);
	assert_text_equal(allo_profile_text(&profile, module->path), "/bin/x");
}

static void without_maps_nothing_is_found(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_proc_maps_done) struct allo_proc_maps maps = { 0 };

	(void)state;
	read_all(&maps, &profile, "nothing of the kind\n");
	assert_int_equal(profile.modules.len, 0);
	assert_int_equal(allo_proc_maps_find(&maps, 0x1000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_linux_is_parsed),
		cmocka_unit_test(a_file_that_is_gone_keeps_its_name),
		cmocka_unit_test(the_short_format_has_optional_parts),
		cmocka_unit_test(other_lines_are_no_maps),
		cmocka_unit_test(the_program_is_the_first_module),
		cmocka_unit_test(every_address_finds_its_module_and_no_other),
		cmocka_unit_test(pieces_of_a_mapping_are_joined),
		cmocka_unit_test(without_maps_nothing_is_found),
	};

	return cmocka_run_group_tests_name("proc_maps", tests, NULL, NULL);
}
