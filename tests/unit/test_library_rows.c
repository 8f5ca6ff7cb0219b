/*
 * test_library_rows.c - liballotrope on recordings: parts of them, their allocations, their events.
 */
#include "check_library.h"

#include <stdlib.h>

#define RECORDING "tests/golden/allo/server.allo"
#define RAW       "tests/golden/allo/server.raw.allo.zst"
#define DHAT      "tests/golden/dhat/valgrind-heap.json"

/* Sums over rows and events, to compare with a profile's. */
struct tally {
	uint64_t calls, blocks, bytes, live_bytes, frees, marks, stacks;
	uint64_t last_ns;
	size_t most; /* stop after so many calls; 0: never */
};

static uint64_t sum_of(const struct allotrope_profile *profile, const char *metric)
{
	int index = allotrope_find_metric(profile, metric, NULL);

	assert_true(index >= 0);
	return (uint64_t)allotrope_sum(profile, (size_t)index);
}

static bool tally_rows(void *context, const struct allotrope_profile *profile,
		       const struct allotrope_allocation *rows, size_t count)
{
	struct tally *tally = context;
	struct allotrope_call call;

	for (size_t i = 0; i < count; i++) {
		tally->blocks++;
		tally->bytes += rows[i].size;
		tally->live_bytes += rows[i].free_ns == ALLOTROPE_NEVER ? rows[i].size : 0;
		tally->stacks += allotrope_get_calls(profile, rows[i].stack, &call, 1) > 0;
		assert_true(rows[i].alloc_ns <= rows[i].free_ns);
		assert_true(rows[i].first_ns <= rows[i].alloc_ns);
		assert_true(rows[i].weight == 1);
	}
	return ++tally->calls != tally->most;
}

static bool tally_events(void *context, const struct allotrope_profile *profile,
			 const struct allotrope_event *events, size_t count)
{
	struct tally *tally = context;
	struct allotrope_call call;

	for (size_t i = 0; i < count; i++) {
		bool is_alloc = events[i].kind == ALLOTROPE_EVENT_ALLOC ||
				events[i].kind == ALLOTROPE_EVENT_REALLOC;

		tally->blocks += is_alloc;
		tally->bytes += is_alloc ? events[i].size : 0;
		tally->frees += events[i].kind == ALLOTROPE_EVENT_FREE;
		tally->marks += events[i].kind == ALLOTROPE_EVENT_MARK && events[i].name[0];
		tally->stacks += is_alloc &&
				 allotrope_get_calls(profile, events[i].stack, &call, 1) > 0;
		assert_true(events[i].ns >= tally->last_ns);
		tally->last_ns = events[i].ns;
	}
	return ++tally->calls != tally->most;
}

static void rows_add_up_to_the_profile(void **state)
{
	static const char *const files[] = { RECORDING, RAW };
	struct allotrope_read_options options = { .no_symbols = true };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct allotrope_profile *profile = NULL;
		struct tally tally = { 0 };

		assert_works((profile = allotrope_read_file(files[i], &options, &err)));
		assert_works(
			allotrope_read_allocations(files[i], &options, tally_rows, &tally, &err));
		assert_true(tally.blocks > 0);
		assert_int_equal(tally.blocks, sum_of(profile, "alloc_blocks"));
		assert_int_equal(tally.bytes, sum_of(profile, "alloc_bytes"));
		assert_int_equal(tally.live_bytes, sum_of(profile, "end_bytes"));
		assert_true(tally.stacks > 0);
		free_valid(profile);
	}
}

static void events_add_up_to_the_profile(void **state)
{
	struct allotrope_read_options options = { .no_symbols = true };
	struct allotrope_profile *profile = NULL;
	struct tally tally = { 0 };

	(void)state;
	assert_works((profile = allotrope_read_file(RECORDING, &options, &err)));
	assert_works(allotrope_read_events(RECORDING, &options, tally_events, &tally, &err));
	assert_int_equal(tally.blocks, sum_of(profile, "alloc_blocks"));
	assert_int_equal(tally.bytes, sum_of(profile, "alloc_bytes"));
	assert_true(tally.frees > 0);
	assert_true(tally.stacks > 0);
	free_valid(profile);
}

static void marks_have_names(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	assert_works(allotrope_read_events("tests/golden/allo/notes.allo", NULL, tally_events,
					   &tally, &err));
	assert_true(tally.marks > 0);
}

static void an_instant_has_live_memory_only(void **state)
{
	struct allotrope_read_options whole = { .no_symbols = true };
	struct allotrope_read_options peak = { .no_symbols = true, .at = "peak" };
	struct allotrope_profile *all = NULL, *live = NULL;
	struct tally tally = { 0 };

	(void)state;
	assert_works((all = allotrope_read_file(RECORDING, &whole, &err)));
	assert_works((live = allotrope_read_file(RECORDING, &peak, &err)));
	assert_int_equal(sum_of(live, "live_bytes"), sum_of(all, "peak_bytes"));
	assert_works(allotrope_read_allocations(RECORDING, &peak, tally_rows, &tally, &err));
	assert_int_equal(tally.bytes, sum_of(all, "peak_bytes"));
	free_valid(all);
	free_valid(live);
}

static void the_caller_can_stop(void **state)
{
	struct allotrope_read_options options = { .no_symbols = true };
	struct tally rows = { .most = 1 }, events = { .most = 1 };

	(void)state;
	assert_works(allotrope_read_allocations(RECORDING, &options, tally_rows, &rows, &err));
	assert_works(allotrope_read_events(RECORDING, &options, tally_events, &events, &err));
	assert_int_equal(rows.calls, 1);
	assert_int_equal(events.calls, 1);
}

static void a_profile_has_neither_rows_nor_events_nor_parts(void **state)
{
	struct allotrope_read_options part = { .range = "1s..2s" };
	struct tally tally = { 0 };

	(void)state;
	assert_fails(allotrope_read_allocations(DHAT, NULL, tally_rows, &tally, &err),
		     ALLOTROPE_FORMAT);
	assert_fails(allotrope_read_events(DHAT, NULL, tally_events, &tally, &err),
		     ALLOTROPE_FORMAT);
	assert_misuse(allotrope_read_file(DHAT, &part, &err));
}

static void misuse_is_reported(void **state)
{
	struct allotrope_read_options both = { .range = "1s..", .at = "peak" };
	struct allotrope_read_options odd = { .at = "5x" };

	(void)state;
	assert_misuse(allotrope_read_allocations(NULL, NULL, tally_rows, NULL, &err));
	assert_misuse(allotrope_read_allocations(RECORDING, NULL, NULL, NULL, &err));
	assert_misuse(allotrope_read_events(RECORDING, NULL, NULL, NULL, &err));
	assert_misuse(allotrope_read_file(RECORDING, &both, &err));
	assert_misuse(allotrope_read_file(RECORDING, &odd, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_add_up_to_the_profile),
		cmocka_unit_test(events_add_up_to_the_profile),
		cmocka_unit_test(marks_have_names),
		cmocka_unit_test(an_instant_has_live_memory_only),
		cmocka_unit_test(the_caller_can_stop),
		cmocka_unit_test(a_profile_has_neither_rows_nor_events_nor_parts),
		cmocka_unit_test(misuse_is_reported),
	};

	return cmocka_run_group_tests_name("library_rows", tests, NULL, NULL);
}
