/* test_sample_clock.c - readers/traces/sample_clock.h. */
#include "check.h"

#include "base/defer.h"
#include "readers/traces/sample_clock.h"

static struct allo_when when_of(struct allo_sample_clock *clock, allo_thread_id thread,
				uint64_t time_ns, uint64_t duration_ns)
{
	struct allo_clocked sample = { thread, true, time_ns, duration_ns };
	struct allo_error err = { 0 };
	struct allo_when when;

	assert_true(allo_sample_clock_when(clock, &sample, &when, &err));
	return when;
}

static void add_sample(struct allo_sample_clock *clock, struct allo_profile *profile,
		       allo_thread_id thread, uint64_t time_ns, uint64_t duration_ns)
{
	struct allo_when when = when_of(clock, thread, time_ns, duration_ns);
	struct allo_error err = { 0 };

	assert_non_null(allo_profile_add_timed_sample(profile, 0, 0, &when, &err));
}

static void times_begin_with_the_earliest_sample(void **state)
{
	ALLO_DEFER(allo_sample_clock_done) struct allo_sample_clock clock = { .period_ns = 10 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	add_sample(&clock, &profile, 1, 5000, 0);
	add_sample(&clock, &profile, 2, 5030, 7);
	add_sample(&clock, &profile, 1, 4990, 0);
	assert_true(allo_sample_clock_settle(&clock, &profile));
	assert_int_equal(profile.sample_times.at[0].start_ns, 10);
	assert_int_equal(profile.sample_times.at[0].duration_ns, 10);
	assert_int_equal(profile.sample_times.at[1].start_ns, 40);
	assert_int_equal(profile.sample_times.at[1].duration_ns, 7);
	assert_int_equal(profile.sample_times.at[2].start_ns, 0);
	assert_int_equal(allo_sample_clock_duration(&clock), 47);
}

static void a_sample_before_a_drained_portion_is_rejected(void **state)
{
	ALLO_DEFER(allo_sample_clock_done) struct allo_sample_clock clock = { .period_ns = 10 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_clocked late = { .thread = 1, .has_time = true, .time_ns = 5010 };
	struct allo_clocked other = { .thread = 3, .has_time = true, .time_ns = 4999 };
	struct allo_error err = { 0 };
	struct allo_when when;

	(void)state;
	add_sample(&clock, &profile, 1, 5020, 0);
	add_sample(&clock, &profile, 2, 5000, 0);
	assert_true(allo_sample_clock_settle(&clock, &profile));
	allo_profile_clear_samples(&profile);
	assert_false(allo_sample_clock_when(&clock, &late, &when, &err));
	assert_false(allo_sample_clock_when(&clock, &other, &when, &err));
	assert_false(allo_failed(&err));
	other.time_ns = 5000;
	assert_true(allo_sample_clock_when(&clock, &other, &when, &err));
}

static void samples_without_times_follow_on_each_other(void **state)
{
	ALLO_DEFER(allo_sample_clock_done) struct allo_sample_clock clock = { 0 };
	struct allo_clocked one = { .thread = 1, .duration_ns = 25 }, other = { .thread = 2 };
	struct allo_error err = { 0 };
	struct allo_when when;

	(void)state;
	assert_true(allo_sample_clock_when(&clock, &one, &when, &err));
	assert_true(allo_sample_clock_when(&clock, &one, &when, &err));
	assert_int_equal(when.start_ns, 25);
	assert_true(allo_sample_clock_when(&clock, &other, &when, &err));
	assert_int_equal(when.start_ns, 0);
	assert_int_equal(when.duration_ns, 1000000);
}

static void the_usual_gap_is_the_period(void **state)
{
	ALLO_DEFER(allo_sample_clock_done) struct allo_sample_clock clock = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	/* Two threads in turns; one of them sleeps for a while. */
	const struct {
		allo_thread_id thread;
		uint64_t time;
	} samples[] = { { 1, 100 }, { 2, 103 }, { 1, 110 }, { 2, 114 },
			{ 1, 121 }, { 1, 900 }, { 1, 911 } };

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
		add_sample(&clock, &profile, samples[i].thread, samples[i].time, i == 1 ? 3 : 0);
	assert_true(allo_sample_clock_settle(&clock, &profile));
	assert_int_equal(clock.period_ns, 11);
	assert_int_equal(profile.sample_times.at[0].duration_ns, 11);
	assert_int_equal(profile.sample_times.at[1].duration_ns, 3);
	assert_int_equal(allo_sample_clock_duration(&clock), 822);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_begin_with_the_earliest_sample),
		cmocka_unit_test(a_sample_before_a_drained_portion_is_rejected),
		cmocka_unit_test(samples_without_times_follow_on_each_other),
		cmocka_unit_test(the_usual_gap_is_the_period),
	};

	return cmocka_run_group_tests_name("sample_clock", tests, NULL, NULL);
}
