/* test_metric.c - profile/metric.h. */
#include "check.h"

#include "profile/metric.h"

static void every_meaning_goes_by_its_own_name(void **state)
{
	(void)state;
	for (int m = 1; m < ALLO_MEANINGS; m++) {
		const struct allo_metric_kind *kind = &allo_metric_kinds[m];

		assert_non_null(kind->name);
		assert_non_null(kind->about);
		assert_int_equal(allo_meaning_of_name(allo_text_of(kind->name)), m);
		if (kind->dhat)
			assert_int_equal(allo_meaning_of_name(allo_text_of(kind->dhat)), m);
	}
	assert_int_equal(allo_meaning_of_name(ALLO_TEXT("")), ALLO_MEANS_OTHER);
	assert_int_equal(allo_meaning_of_name(ALLO_TEXT("rss")), ALLO_MEANS_OTHER);
}

static void common_names_are_known(void **state)
{
	static const struct {
		const char *name;
		enum allo_meaning meaning;
	} names[] = {
		{ "leak", ALLO_END_BYTES },          { "leaks", ALLO_END_BYTES },
		{ "leaked", ALLO_END_BYTES },        { "live", ALLO_LIVE_BYTES },
		{ "inuse", ALLO_LIVE_BYTES },        { "temporary", ALLO_TEMPORARY_BLOCKS },
		{ "total", ALLO_ALLOC_BYTES },       { "alloc", ALLO_ALLOC_BYTES },
		{ "alloc_space", ALLO_ALLOC_BYTES }, { "allocations", ALLO_ALLOC_BLOCKS },
		{ "peak", ALLO_PEAK_BYTES },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(allo_meaning_of_name(allo_text_of(names[i].name)),
				 names[i].meaning);
}

/* One name, one metric. */
static void no_alias_is_there_twice(void **state)
{
	(void)state;
	for (int m = 1; m < ALLO_MEANINGS; m++) {
		const char *aliases = allo_metric_kinds[m].aliases;
		struct allo_text rest = { 0 }, alias;

		if (aliases)
			rest = allo_text_of(aliases);
		while (allo_text_next(&rest, ' ', &alias))
			assert_int_equal(allo_meaning_of_name(alias), m);
	}
}

static void companions_go_both_ways(void **state)
{
	(void)state;
	for (int m = 1; m < ALLO_MEANINGS; m++) {
		enum allo_meaning other = allo_metric_kinds[m].companion;

		if (other != ALLO_MEANS_OTHER && m != ALLO_LIFETIME)
			assert_int_equal(allo_metric_kinds[other].companion, m);
	}
}

static void inuse_is_the_maximum_only_beside_a_peak(void **state)
{
	(void)state;
	assert_int_equal(allo_meaning_of_pprof(ALLO_TEXT("inuse_space"), false), ALLO_LIVE_BYTES);
	assert_int_equal(allo_meaning_of_pprof(ALLO_TEXT("inuse_space"), true), ALLO_MAX_BYTES);
	assert_int_equal(allo_meaning_of_pprof(ALLO_TEXT("inuse_objects"), true), ALLO_MAX_BLOCKS);
	assert_int_equal(allo_meaning_of_pprof(ALLO_TEXT("max_bytes"), false), ALLO_MAX_BYTES);
	assert_int_equal(allo_meaning_of_pprof(ALLO_TEXT("alloc_space"), false), ALLO_ALLOC_BYTES);
	assert_int_equal(allo_meaning_of_pprof(ALLO_TEXT("lifetime"), false), ALLO_LIFETIME);
	/* DHAT's and short names are not pprof's. */
	assert_int_equal(allo_meaning_of_pprof(ALLO_TEXT("tb"), false), ALLO_MEANS_OTHER);
	assert_int_equal(allo_meaning_of_pprof(ALLO_TEXT(""), true), ALLO_MEANS_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_meaning_goes_by_its_own_name),
		cmocka_unit_test(common_names_are_known),
		cmocka_unit_test(no_alias_is_there_twice),
		cmocka_unit_test(companions_go_both_ways),
		cmocka_unit_test(inuse_is_the_maximum_only_beside_a_peak),
	};

	return cmocka_run_group_tests_name("metric", tests, NULL, NULL);
}
