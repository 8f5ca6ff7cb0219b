/* test_change_log.c - windows of a change log against replays; see log_windows.h. */
#include "base/defer.h"
#include "check.h"
#include "log_windows.h"
#include "oracle.h"

enum { ROUNDS = 60, WINDOWS = 10 };

/* Random programs with threads, reallocs, unknown and late frees; raw recordings. */
static void windows_agree_with_replay(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		ALLO_DEFER(opened_done) struct opened opened;
		ALLO_DEFER(allo_change_log_done)
		struct allo_change_log log = { .keeps_first = round % 4 == 0 };
		struct comparison comparison = { 0 };
		struct allo_error err = { 0 };

		open_round(&opened, round);
		assert_true(allo_change_log_build(&log, &opened.recording, NULL, &err));
		assert_int_equal(log.event_count, ORACLE_EVENTS);
		assert_true(
			compare_rounds(&comparison, &log, &opened.recording, WINDOWS, round, &err));
		assert_int_equal(comparison.different, 0);
		assert_true(comparison.compared > 100 * WINDOWS);
	}
}

/* Adds all events in steps of equal length. */
static void grow_in_steps(struct allo_change_log *log, struct opened *opened, uint64_t last_ns,
			  uint64_t steps)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	struct allo_error err = { 0 };
	struct allo_log_builder *builder = allo_log_builder_new(log, &opened->recording, &err);

	assert_non_null(builder);
	assert_true(allo_events_open(&events, &opened->recording, &err));
	events.follows = true;
	for (uint64_t step = 1; step <= steps; step++) {
		uint64_t before = log->event_count;

		events.until_ns = step < steps ? last_ns / steps * step : UINT64_MAX;
		assert_true(allo_events_resume(&events, &err));
		assert_true(allo_log_builder_step(builder, &events, &err));
		assert_true(log->event_count >= before);
		assert_true(step == steps || log->event_count < ORACLE_EVENTS);
	}
	allo_log_builder_free(builder);
}

/* A log that was made in steps answers like a replay of the whole recording. */
static void a_log_may_grow(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		ALLO_DEFER(opened_done) struct opened opened;
		ALLO_DEFER(allo_change_log_done) struct allo_change_log log = { 0 };
		ALLO_DEFER(allo_change_log_done) struct allo_change_log at_once = { 0 };
		struct comparison comparison = { 0 };
		struct allo_error err = { 0 };

		open_round(&opened, round);
		assert_true(allo_change_log_build(&at_once, &opened.recording, NULL, &err));
		grow_in_steps(&log, &opened, at_once.last_ns, 1 + round % 9);
		assert_int_equal(log.event_count, ORACLE_EVENTS);
		assert_true(
			compare_rounds(&comparison, &log, &opened.recording, WINDOWS, round, &err));
		assert_int_equal(comparison.different, 0);
		assert_true(comparison.compared > 100 * WINDOWS);
	}
}

/* A recording without events has an empty log. */
static void a_log_may_be_empty(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };
	ALLO_DEFER(allo_change_log_done) struct allo_change_log log = { 0 };
	struct comparison comparison = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	record_tables(&opened.recorder);
	open_recorded(&opened);
	assert_true(allo_change_log_build(&log, &opened.recording, NULL, &err));
	assert_int_equal(log.change_count, 0);
	assert_true(compare_rounds(&comparison, &log, &opened.recording, WINDOWS, 1, &err));
	assert_int_equal(comparison.different, 0);
}

/* Sizes beyond 32 bits, and so long a time that lifetimes do not fit 64 bits. */
static void large_numbers_fit(void **state)
{
	const uint64_t year = 31536000000000000,
		       sizes[] = { 1, UINT32_MAX, (uint64_t)1 << 31, (uint64_t)1 << 40, 5 };
	ALLO_DEFER(opened_done) struct opened opened = { 0 };
	ALLO_DEFER(allo_change_log_done) struct allo_change_log log = { 0 };
	struct recorder *recorder = &opened.recorder;
	struct comparison comparison = { 0 };
	struct allo_error err = { 0 };
	uint32_t stream;

	(void)state;
	record_tables(recorder);
	stream = recorder_thread(recorder, 500, "");
	recorder_escape(recorder, stream, ALLO_ESCAPE_TIMED);
	for (unsigned i = 0; i < 1000; i++)
		recorder_alloc(recorder, stream, 2000 + i * 1000, 0x100000 + 64 * i, sizes[i % 5],
			       1 + i % 3);
	for (unsigned i = 0; i < 900; i++)
		recorder_free(recorder, stream, year + i * 1000, 0x100000 + 64 * i);
	recorder_head(recorder)->last = (struct allo_wire_moment){ 1000 + 2 * year,
								   5000000 + 2 * year };
	open_recorded(&opened);
	assert_true(allo_change_log_build(&log, &opened.recording, NULL, &err));
	assert_int_equal(log.change_count, 1900);
	assert_true(compare_rounds(&comparison, &log, &opened.recording, 20, 1, &err));
	assert_int_equal(comparison.different, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_agree_with_replay),
		cmocka_unit_test(a_log_may_grow),
		cmocka_unit_test(a_log_may_be_empty),
		cmocka_unit_test(large_numbers_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
