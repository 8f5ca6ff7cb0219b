/* test_call_times.c - readers/traces/call_times.h. */
#include "check.h"

#include "base/defer.h"
#include "readers/traces/call_times.h"

#include <stdio.h>

struct calls {
	struct allo_profile profile;
	struct allo_read_options options;
	struct allo_seen_threads threads;
	struct allo_call_times times;
	struct allo_drain drain;
	char told[2000];
};

static void calls_done(struct calls *calls)
{
	allo_call_times_done(&calls->times);
	allo_seen_threads_done(&calls->threads);
	allo_profile_done(&calls->profile);
}

/* Of one letter each, the outermost first. */
static void tell_stack(struct calls *calls, allo_stack_id id)
{
	const struct allo_profile *profile = &calls->profile;
	const struct allo_stack *stack = &profile->stacks.at[id];
	size_t used;

	if (id == 0)
		return;
	tell_stack(calls, stack->parent);
	used = strlen(calls->told);
	calls->told[used] =
		allo_profile_text(
			profile,
			profile->functions
				.at[profile->lines.at[profile->frames.at[stack->frame].first_line]
					    .function]
				.name)
			.data[0];
	calls->told[used + 1] = '\0';
}

/* "ab 5+3 1/2": stack, start, duration, thread, calls that go on + 1 */
static void tell_samples(struct calls *calls)
{
	const struct allo_profile *profile = &calls->profile;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		size_t used;

		tell_stack(calls, profile->sample_stacks.at[i]);
		used = strlen(calls->told);
		if (profile->sample_times.len > 0) {
			struct allo_when when = profile->sample_times.at[i];

			snprintf(calls->told + used, sizeof(calls->told) - used, " %u+%u %u/%u, ",
				 (unsigned)when.start_ns, (unsigned)when.duration_ns, when.thread,
				 when.going_on);
		} else {
			snprintf(calls->told + used, sizeof(calls->told) - used, " %u, ",
				 (unsigned)allo_profile_row(profile, i)[0]);
		}
	}
}

static bool drop_portion(void *context, struct allo_profile *portion, struct allo_error *err)
{
	(void)context;
	return allo_profile_validate(portion, err);
}

/* "1a0 1b0 1-5": on thread 1 a and b begin at 0, and b ends at 5. */
static const char *read_calls(struct calls *calls, const char *text, uint64_t *open)
{
	struct allo_error err = { 0 };
	unsigned thread, time;
	char name;

	calls->threads.profile = calls->times.profile = &calls->profile;
	calls->times.options = &calls->options;
	calls->times.threads = &calls->threads;
	assert_true(allo_call_times_init(&calls->times, &err));
	for (; sscanf(text, "%u%c%u", &thread, &name, &time) == 3;
	     text += strcspn(text, " ") + (text[strcspn(text, " ")] != '\0')) {
		allo_thread_id id = allo_seen_thread(&calls->threads, 0, thread, &err);

		if (name == '-') {
			assert_true(allo_call_times_depth(&calls->times, id) > 0);
			assert_true(allo_call_times_end(&calls->times, id, time, &err));
			continue;
		}
		assert_true(allo_call_times_begin(
			&calls->times, id,
			allo_profile_add_named_frame(&calls->profile,
						     (struct allo_text){ &name, 1 }, &err),
			time, &err));
	}
	assert_true(allo_call_times_finish(&calls->times, open, &err));
	assert_true(allo_profile_validate(&calls->profile, &err));
	tell_samples(calls);
	return calls->told;
}

static const char *read_timed(struct calls *calls, const char *text)
{
	uint64_t open;

	calls->options.wants_times = true;
	return read_calls(calls, text, &open);
}

static void intervals_are_samples(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };

	(void)state;
	assert_string_equal(read_timed(&calls, "1a0 1b10 1-25 1-100"),
			    "a 0+10 1/1, ab 10+15 1/2, a 25+75 1/2, ");
	assert_int_equal(calls.profile.meta.duration, 100);
}

static void calls_that_begin_together_are_one_sample(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };

	(void)state;
	assert_string_equal(read_timed(&calls, "1a3 1b3 1c3 1-5 1-5 1-7"),
			    "abc 3+2 1/1, a 5+2 1/2, ");
}

static void equal_calls_in_a_row_stay_separate(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };

	(void)state;
	assert_string_equal(read_timed(&calls, "1a0 1b0 1-5 1b5 1-9 1-9 1a9 1-12"),
			    "ab 0+5 1/1, ab 5+4 1/2, a 9+3 1/1, ");
}

static void calls_that_take_no_time_are_there(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };

	(void)state;
	assert_string_equal(read_timed(&calls, "1a0 1b0 1-0 1c0 1d0 1-0 1-0 1-0 1a0 1-0"),
			    "ab 0+0 1/1, acd 0+0 1/2, a 0+0 1/1, ");
}

static void gaps_stay(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };

	(void)state;
	assert_string_equal(read_timed(&calls, "1a0 1-5 1a20 1-30"), "a 0+5 1/1, a 20+10 1/1, ");
}

static void threads_do_not_mix(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };

	(void)state;
	assert_string_equal(read_timed(&calls, "7a0 8a1 7b2 8-3 7-4 7-5"),
			    "a 0+2 1/1, a 1+2 2/1, ab 2+2 1/2, a 4+1 1/2, ");
}

static void an_unended_call_ends_with_its_thread(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };
	uint64_t open;

	(void)state;
	calls.options.wants_times = true;
	assert_string_equal(read_calls(&calls, "1a0 1b4 1c6 1-9 2d5", &open),
			    "a 0+4 1/1, ab 4+2 1/2, abc 6+3 1/3, d 5+0 2/1, ");
	assert_int_equal(open, 3);
}

static void intervals_are_added_up(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };
	uint64_t open;

	(void)state;
	assert_string_equal(read_calls(&calls, "1a0 1b10 1-25 1b30 1-31 1-100 2a0 2-7", &open),
			    "a 91, ab 16, ");
}

static void or_by_thread(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };
	uint64_t open;

	(void)state;
	calls.options.by_thread = true;
	assert_string_equal(read_calls(&calls, "1a0 1-5 2a0 2-7 1a10 1-11", &open), "a 6, a 7, ");
	assert_text_equal(allo_profile_text(&calls.profile, calls.profile.labels.at[0].key), "tid");
	assert_int_equal(calls.profile.labels.at[1].number, 2);
}

/* Whatever is handed on in between, calls go on. */
static void portions_equal_the_whole(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };
	struct allo_error err = { 0 };
	allo_thread_id thread;
	allo_frame_id a, b;
	uint64_t open;

	(void)state;
	calls.options.wants_times = true;
	calls.drain = (struct allo_drain){ drop_portion, NULL };
	calls.options.drain = &calls.drain;
	calls.profile.is_portion = true;
	calls.threads.profile = calls.times.profile = &calls.profile;
	calls.times.options = &calls.options;
	calls.times.threads = &calls.threads;
	assert_true(allo_call_times_init(&calls.times, &err));
	thread = allo_seen_thread(&calls.threads, 0, 1, &err);
	a = allo_profile_add_named_frame(&calls.profile, ALLO_TEXT("a"), &err);
	b = allo_profile_add_named_frame(&calls.profile, ALLO_TEXT("b"), &err);
	assert_true(allo_call_times_begin(&calls.times, thread, a, 0, &err));
	for (unsigned i = 0; i < ALLO_PORTION_SAMPLES / 2 + 5; i++) {
		assert_true(allo_call_times_begin(&calls.times, thread, b, i, &err));
		assert_true(allo_call_times_end(&calls.times, thread, i, &err));
	}
	assert_int_equal(calls.times.portion, 1);
	assert_true(allo_call_times_end(&calls.times, thread, 2000, &err));
	assert_true(allo_call_times_finish(&calls.times, &open, &err));
	assert_true(allo_profile_validate(&calls.profile, &err));
	tell_samples(&calls);
	assert_non_null(strstr(calls.told, "ab 516+0 1/2, a 516+1484 1/2, "));
}

static void too_many_open_calls_are_refused(void **state)
{
	ALLO_DEFER(calls_done) struct calls calls = { 0 };
	struct allo_error err = { 0 };
	allo_thread_id thread;
	allo_frame_id a;

	(void)state;
	calls.threads.profile = calls.times.profile = &calls.profile;
	calls.times.options = &calls.options;
	calls.times.threads = &calls.threads;
	assert_true(allo_call_times_init(&calls.times, &err));
	thread = allo_seen_thread(&calls.threads, 0, 1, &err);
	a = allo_profile_add_named_frame(&calls.profile, ALLO_TEXT("a"), &err);
	for (size_t i = 0; i < ALLO_CALLS_DEPTH; i++)
		assert_true(allo_call_times_begin(&calls.times, thread, a, 0, &err));
	assert_false(allo_call_times_begin(&calls.times, thread, a, 0, &err));
	assert_int_equal(err.code, ALLO_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_are_samples),
		cmocka_unit_test(calls_that_begin_together_are_one_sample),
		cmocka_unit_test(equal_calls_in_a_row_stay_separate),
		cmocka_unit_test(calls_that_take_no_time_are_there),
		cmocka_unit_test(gaps_stay),
		cmocka_unit_test(threads_do_not_mix),
		cmocka_unit_test(an_unended_call_ends_with_its_thread),
		cmocka_unit_test(intervals_are_added_up),
		cmocka_unit_test(or_by_thread),
		cmocka_unit_test(portions_equal_the_whole),
		cmocka_unit_test(too_many_open_calls_are_refused),
	};

	return cmocka_run_group_tests_name("call_times", tests, NULL, NULL);
}
