/* test_attribution.c - analysis/sites/attribution.h, wrappers.h and ownership.h. */
#include "check.h"
#include "folded_profile.h"

#include "analysis/sites/attribution.h"
#include "analysis/sites/function_names.h"
#include "analysis/sites/ownership.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdio.h>

static void begin(struct allo_profile *profile)
{
	struct allo_error err = { 0 };

	assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, &err));
	assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BLOCKS, NULL, &err));
}

/* One block of `size` bytes. */
static void add_block(struct allo_profile *profile, const char *stack, unsigned size)
{
	char written[256];

	snprintf(written, sizeof(written), "%s %u", stack, size);
	add_written_stack(profile, written);
	profile->values.at[profile->values.len - 1] = 1;
}

/* The name of the site of a sample. */
static struct allo_text site_of(struct allo_attribution *attribution,
				const struct allo_profile *profile, size_t sample)
{
	static char scratch[ALLO_NAME_SCRATCH];
	struct allo_error err = { 0 };
	allo_stack_id site;

	assert_true(allo_attribution_learn(attribution, profile, &err));
	site = allo_attribution_site(attribution, profile, profile->sample_stacks.at[sample]);
	return allo_call_name(profile, &profile->frames.at[profile->stacks.at[site].frame],
			      allo_attribution_site_call(attribution, profile, site), scratch);
}

static void known_wrappers_are_passed_over(void **state)
{
	static const struct {
		const char *stack, *site;
	} table[] = {
		{ "_start;main;load;xmalloc;malloc", "load" },
		{ "main;sdsnew;sdsnewlen;zmalloc;malloc", "main" },
		{ "main;void ns::f<int>(std::vector<int>&);void std::vector<int>::push_back(int&&)",
		  "void ns::f<int>(std::vector<int>&)" },
		{ "main;(anonymous namespace)::f();std::string::append(char const*);operator new",
		  "(anonymous namespace)::f()" },
		{ "main;S::operator()(int) const;std::sort<int*>(int*, int*)",
		  "S::operator()(int) const" },
		{ "main@a.rs;app::fill@a.rs;alloc::vec::Vec<T>::push;__rust_alloc", "app::fill" },
		{ "main@a.rs;<app::S as core::clone::Clone>::clone@a.rs;<T as core::convert::Into<U>>"
		  "::into;__rust_alloc",
		  "<app::S as core::clone::Clone>::clone" },
		{ "main@a.cpp;core::parse@a.cpp;malloc", "core::parse" },
		/* Inlined functions have no namespace. */
		{ "main@a.cpp;fill@a.cpp;_M_create@/usr/include/c++/12/bits/std_function.h;malloc",
		  "fill" },
		{ "main@a.cpp;f@a.cpp;__once@/usr/include/x86_64-linux-gnu/c++/12/bits/gthr.h",
		  "f" },
		{ "main@a.cpp;f@a.cpp;__grow@/usr/lib/llvm-14/include/c++/v1/vector;malloc", "f" },
		{ "main@a.cpp;_M_create@/home/me/include/app.h;malloc", "_M_create" },
		{ "main@a.rs;app::f@a.rs;[T]::repeat@/rustc/5980/library/alloc/src/str.rs",
		  "app::f" },
		{ "main@a.rs;app::f@a.rs;insert@/rust/deps/hashbrown-0.16.1/src/map.rs", "app::f" },
		{ "main@a.rs;f@/home/me/library/src/lib.rs;malloc", "f" },
		{ "node::Start;JS:load /app/a.js:3:9;JS:alloc node:buffer:391:30;v8::f;malloc",
		  "JS:load /app/a.js:3:9" },
		{ "main;clone@tree.c:3;malloc", "clone" },
		{ "py::load:app.py;_PyEval_EvalFrameDefault;PyList_New;PyObject_Malloc",
		  "py::load:app.py" },
		/* If nothing else is left. */
		{ "_start;_dl_start;_dl_new_object;malloc", "_dl_new_object" },
		{ "operator new;malloc", "operator new" },
		{ "start_thread;std::vector<int>::reserve;operator new",
		  "std::vector<int>::reserve" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

		begin(&profile);
		add_block(&profile, table[i].stack, 8);
		assert_text_equal(site_of(&attribution, &profile, 0), table[i].site);
	}
}

static void named_wrappers_are_passed_over_and_all_can_be_kept(void **state)
{
	ALLO_DEFER(allo_attribution_done)
	struct allo_attribution named = { .names = { "Pool::take" }, .name_count = 1 };
	ALLO_DEFER(allo_attribution_done)
	struct allo_attribution none = { .wrappers = ALLO_WRAPPERS_NONE };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	begin(&profile);
	add_block(&profile, "main;load;void* Pool::take(unsigned long);xmalloc_array;malloc", 8);
	assert_text_equal(site_of(&named, &profile, 0), "load");
	assert_text_equal(site_of(&none, &profile, 0), "xmalloc_array");
}

/* Stacks of `callers` functions that call "wrap", each with another size or all with the same. */
static void add_callers(struct allo_profile *profile, unsigned callers, bool has_sizes)
{
	char stack[128];

	for (unsigned i = 0; i < callers; i++) {
		snprintf(stack, sizeof(stack), "main;user%u;wrap@w.c:7;malloc", i);
		add_block(profile, stack, has_sizes ? 100 + i : 100);
	}
}

static void assert_site(const struct allo_profile *profile, enum allo_wrappers wrappers,
			const char *site)
{
	ALLO_DEFER(allo_attribution_done)
	struct allo_attribution attribution = { .wrappers = wrappers };

	assert_text_equal(site_of(&attribution, profile, 0), site);
}

static void a_function_of_the_shape_of_a_wrapper_is_passed_over(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	begin(&profile);
	add_callers(&profile, 8, true);
	assert_site(&profile, ALLO_WRAPPERS_AUTO, "user0");
	assert_site(&profile, ALLO_WRAPPERS_KNOWN, "wrap");
}

static void a_wrapper_of_a_wrapper_is_found_too(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	char stack[128];

	(void)state;
	begin(&profile);
	for (unsigned i = 0; i < 8; i++) {
		snprintf(stack, sizeof(stack), "main;user%u;outer@w.c:9;wrap@w.c:7;malloc", i);
		add_block(&profile, stack, 50 + i);
	}
	add_callers(&profile, 8, true);
	assert_site(&profile, ALLO_WRAPPERS_AUTO, "user0");
}

static void a_constructor_stays(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	begin(&profile);
	add_callers(&profile, 30, false);
	assert_site(&profile, ALLO_WRAPPERS_AUTO, "wrap");
}

static void a_function_with_few_callers_stays(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	begin(&profile);
	add_callers(&profile, 7, true);
	assert_site(&profile, ALLO_WRAPPERS_AUTO, "wrap");
}

static void a_function_that_does_more_stays(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	begin(&profile);
	add_callers(&profile, 16, true);
	/* Stacks through it that allocate elsewhere. */
	add_block(&profile, "main;user0;wrap@w.c:8;other;malloc", 3);
	add_block(&profile, "main;user1;wrap@w.c:8;other;malloc", 4);
	add_block(&profile, "main;user2;wrap@w.c:8;another;malloc", 4);
	assert_site(&profile, ALLO_WRAPPERS_AUTO, "wrap");
}

static void a_function_that_allocates_in_many_places_stays(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	char stack[128];

	(void)state;
	begin(&profile);
	for (unsigned i = 0; i < 20; i++) {
		snprintf(stack, sizeof(stack), "main;user%u;wrap@w.c:%u;malloc", i, 10 + i % 5);
		add_block(&profile, stack, 100 + i);
	}
	assert_site(&profile, ALLO_WRAPPERS_AUTO, "wrap");
}

static void main_is_never_a_wrapper(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	char stack[128];

	(void)state;
	begin(&profile);
	for (unsigned i = 0; i < 20; i++) {
		snprintf(stack, sizeof(stack), "caller%u;main;malloc", i);
		add_block(&profile, stack, 100 + i);
	}
	assert_site(&profile, ALLO_WRAPPERS_AUTO, "main");
}

static void cpu_time_belongs_to_the_function_that_spends_it(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_SAMPLES, NULL, &err));
	add_written_stack(&profile, "main;std::sort<int*>(int*, int*) 5");
	assert_site(&profile, ALLO_WRAPPERS_AUTO, "std::sort<int*>(int*, int*)");
}

/* A frame at an address of a module, without a name. */
static allo_frame_id add_address(struct allo_profile *profile, const char *path, uint64_t address)
{
	struct allo_error err = { 0 };
	struct allo_module module = {
		.path = allo_profile_add_string(profile, allo_text_of(path), &err),
	};
	struct allo_frame frame = { .address = address,
				    .module = allo_profile_add_module(profile, &module, &err) };

	return allo_profile_add_frame(profile, &frame, NULL, 0, &err);
}

static void wrappers_without_a_name_are_found_by_their_address(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	begin(&profile);
	for (unsigned i = 0; i < 16; i++) {
		allo_stack_id stack = allo_profile_add_stack(
			&profile, 0, add_address(&profile, "/bin/a", 9), &err);
		uint64_t values[] = { 10 + i, 1 };

		stack = allo_profile_add_stack(&profile, stack,
					       add_address(&profile, "/bin/a", 100 + i), &err);
		stack = allo_profile_add_stack(&profile, stack, add_address(&profile, "/bin/a", 50),
					       &err);
		assert_true(allo_profile_add_values(&profile, stack, 0, values, &err));
	}
	assert_site(&profile, ALLO_WRAPPERS_AUTO, "0x64 [a]");
	assert_site(&profile, ALLO_WRAPPERS_KNOWN, "0x32 [a]");
}

static void qualified_names_have_no_return_type(void **state)
{
	static const char *const table[][2] = {
		{ "main", "main" },
		{ "void std::f<int (*)(char)>(int)", "std::f<int (*)(char)>" },
		{ "operator new(unsigned long)", "operator new" },
		{ "bool a::operator<(a::b const&, int)", "a::operator<" },
		{ "a::f()::{lambda(int)#1}::operator()(int) const", "a::f" },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
		{ "", "" },
		{ "<", "<" },
		{ "a(((", "a" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_text_equal(allo_qualified_name(allo_text_of(table[i][0])), table[i][1]);
}

static void own_code_is_told_by_its_path(void **state)
{
	static const struct {
		const char *function, *file, *module;
		bool is_own;
	} table[] = {
		{ "parse", "/home/me/app/parse.c", "/home/me/app/app", true },
		{ "parse", "", "/home/me/app/libapp.so", true },
		{ "parse", "src/parse.c", "", true },
		{ "f", "/usr/src/app/main.c", "", true },
		{ "f", "/build/app/main.c", "", true },
		{ "jv_parse", "", "/usr/lib/x86_64-linux-gnu/libjq.so.1", true },
		{ "main", "", "/usr/bin/jq", true },
		{ "cc", "", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", true },
		{ "onig_new", "", "/usr/lib/x86_64-linux-gnu/libonig.so.5", false },
		{ "fopen", "", "/lib/x86_64-linux-gnu/libc.so.6", false },
		{ "f", "/usr/include/c++/12/bits/stl_vector.h", "/home/me/app/app", false },
		{ "f", "/rustc/90b35a6/library/alloc/src/vec/mod.rs", "", false },
		{ "f", "/home/me/.cargo/registry/src/index/serde-1.0/src/lib.rs", "", false },
		{ "f", "/srv/app/node_modules/x/y.cc", "", false },
		{ "std::sort<int*>(int*, int*)", "", "/home/me/app/app", false },
		{ "vdso", "", "[vdso]", false },
	};
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_ownership_done) struct allo_ownership ownership = { 0 };

	(void)state;
	add_address(&profile, "/usr/bin/jq", 1);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_int_equal(allo_is_own_code(&ownership, &profile,
						  allo_text_of(table[i].function),
						  allo_text_of(table[i].file),
						  allo_text_of(table[i].module)),
				 table[i].is_own);
}

/* Portions of a file bring new modules. */
static void executables_may_follow_their_libraries(void **state)
{
	static const char *const libraries[] = { "/usr/lib/libjq.so.1", "/usr/lib/libperl.so.5.36",
						 "/usr/lib/libonig.so.5" };
	static const char *const programs[] = { "/usr/bin/jq", "/opt/old/jq", "/usr/bin/perl",
						"jq.so" };
	static const bool is_own[5][3] = { { false, false, false },
					   { true, false, false },
					   { true, false, false },
					   { true, true, false },
					   { true, true, false } };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_ownership_done) struct allo_ownership ownership = { 0 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(allo_is_own_code(&ownership, &profile, ALLO_TEXT("f"),
							  ALLO_TEXT(""),
							  allo_text_of(libraries[k])),
					 is_own[i][k]);
		if (i < 4)
			add_address(&profile, programs[i], i + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_wrappers_are_passed_over),
		cmocka_unit_test(named_wrappers_are_passed_over_and_all_can_be_kept),
		cmocka_unit_test(a_function_of_the_shape_of_a_wrapper_is_passed_over),
		cmocka_unit_test(a_wrapper_of_a_wrapper_is_found_too),
		cmocka_unit_test(a_constructor_stays),
		cmocka_unit_test(a_function_with_few_callers_stays),
		cmocka_unit_test(a_function_that_does_more_stays),
		cmocka_unit_test(a_function_that_allocates_in_many_places_stays),
		cmocka_unit_test(main_is_never_a_wrapper),
		cmocka_unit_test(cpu_time_belongs_to_the_function_that_spends_it),
		cmocka_unit_test(wrappers_without_a_name_are_found_by_their_address),
		cmocka_unit_test(qualified_names_have_no_return_type),
		cmocka_unit_test(own_code_is_told_by_its_path),
		cmocka_unit_test(executables_may_follow_their_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
