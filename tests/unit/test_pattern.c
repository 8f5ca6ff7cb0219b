/* test_pattern.c - analysis/filters/pattern.h and analysis/sites/allocator.h. */
#include "check.h"

#include "analysis/filters/pattern.h"
#include "analysis/sites/allocator.h"
#include "base/defer.h"

/* A profile of one frame: "Parser::parse (anonymous)" in src/Parse.cpp in /opt/bin/App. */
static void make(struct allo_profile *profile)
{
	struct allo_error err = { 0 };
	struct allo_function function = {
		.name = allo_profile_add_string(profile, ALLO_TEXT("Parser::parse (anonymous)"),
						&err),
		.file = allo_profile_add_string(profile, ALLO_TEXT("src/Parse.cpp"), &err),
	};
	struct allo_module module = { .path = allo_profile_add_string(
					      profile, ALLO_TEXT("/opt/bin/App"), &err) };
	struct allo_line line = { .function = allo_profile_add_function(profile, &function, &err) };
	struct allo_frame frame = { .module = allo_profile_add_module(profile, &module, &err) };

	assert_int_equal(allo_profile_add_frame(profile, &frame, &line, 1, &err), 1);
	frame.address = 0x1f00;
	assert_int_equal(allo_profile_add_frame(profile, &frame, NULL, 0, &err), 2);
}

static bool matches(const struct allo_profile *profile, const char *text, allo_frame_id frame)
{
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	struct allo_error err = { 0 };

	assert_true(allo_pattern_init(&pattern, text, &err));
	return allo_pattern_matches(&pattern, profile, &profile->frames.at[frame], 0);
}

static void parts_wholes_and_expressions_match(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const char *good[] = {
		"parse",         "Parser",
		"src/",          "app",
		"App",           "=src/Parse.cpp",
		"=/opt/bin/App", "/^Parser::/",
		"/PARSER/i",     "/App$/",
		"(anon",         "fn:parser",
		"file:parse",    "file:=src/Parse.cpp",
		"mod:opt",       "mod:/[A]pp/",
		"/./",           "//",
	};
	const char *bad[] = {
		"xyz",           "PARSE",      "APP",      "=parse",   "=App",
		"/^parse/",      "/PARSER/",   "fn:src",   "file:App", "mod:parse",
		"file:/^Parse/", "fn:=Parser", "/usr/bin", "/x/y",
	};

	(void)state;
	make(&profile);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(matches(&profile, good[i], 1));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(matches(&profile, bad[i], 1));
}

static void a_frame_without_a_name_matches_by_what_it_is_called(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	make(&profile);
	assert_true(matches(&profile, "0x1f00", 2));
	assert_true(matches(&profile, "fn:[App]", 2));
	assert_true(matches(&profile, "mod:App", 2));
	assert_false(matches(&profile, "file:App", 2));
}

static void patterns_that_make_no_sense_are_refused(void **state)
{
	const char *bad[] = { "", "=", "fn:", "file:=", "/(/", "/[/i", "/s++++/" };
	static char lots[3000];

	(void)state;
	memset(lots, 'a', sizeof(lots) - 1);
	lots[0] = lots[sizeof(lots) - 2] = '/';
	for (size_t i = 0; i <= sizeof(bad) / sizeof(*bad); i++) {
		ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
		struct allo_error err = { 0 };

		assert_false(allo_pattern_init(
			&pattern, i < sizeof(bad) / sizeof(*bad) ? bad[i] : lots, &err));
		assert_int_equal(err.code, ALLO_USAGE);
	}
}

static void allocators_are_known_by_name_or_file(void **state)
{
	const struct {
		const char *function, *file;
		bool is_allocator;
	} table[] = {
		{ "malloc", "", true },
		{ "operator new(unsigned long)", "", true },
		{ "operator new[](unsigned long, std::nothrow_t const&)", "", true },
		{ "(anonymous namespace)::do_malloc_pages(x)", "", true },
		{ "alloc::raw_vec::RawVec<T,A>::reserve", "", true },
		{ "<alloc::alloc::Global as core::alloc::Allocator>::allocate", "", true },
		{ "std::allocator<int>::allocate(unsigned long)", "", true },
		{ "allocate", "bits/new_allocator.h", true },
		{ "runtime.mallocgc", "", true },
		{ "__rustc::__rust_alloc", "", true },
		{ "__rustc[5224e6b81cd82a8f]::__rust_alloc", "", true },
		{ "__rustc[5224e6b81cd82a8f]::__rg_alloc_zeroed", "", true },
		{ "<alloc[1c3]::alloc::Global as core[2d4]::alloc::Allocator>::allocate", "",
		  true },
		{ "<allotrope[a0]::alloc::Alloc<mi[b1]::Mi> as core[2d4]::alloc::global::"
		  "GlobalAlloc>::realloc",
		  "", true },
		{ "<pages[b1]::Pages as core[2d4]::alloc::global::GlobalAlloc>::alloc", "", true },
		{ "app[5224e6b81cd82a8f]::__rust_alloc_wrapper", "", false },
		{ "table[5]::malloc", "", false },
		{ "malloc_stats_printer", "", false },
		{ "my_malloc", "", false },
		{ "operator()(int)", "", false },
		{ "main", "alloc.c", false },
		{ "", "", false },
		{ "(", "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_int_equal(allo_is_allocator(allo_text_of(table[i].function),
						   allo_text_of(table[i].file)),
				 table[i].is_allocator);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_wholes_and_expressions_match),
		cmocka_unit_test(a_frame_without_a_name_matches_by_what_it_is_called),
		cmocka_unit_test(patterns_that_make_no_sense_are_refused),
		cmocka_unit_test(allocators_are_known_by_name_or_file),
	};

	return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
