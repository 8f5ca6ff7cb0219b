/* test_timeline.c - steps of a heap over time; see test_replay.c for those of whole programs. */
#include "base/defer.h"
#include "check.h"
#include "replay/timeline.h"

/* One block per time; each is as large as all before it, plus one byte. */
static void allocate_at(struct allo_timeline *timeline, const uint64_t *times, size_t count)
{
	struct allo_event events[ALLO_EVENTS_AT_ONCE] = { 0 };
	struct allo_outcomes outcomes = { 0 };
	struct allo_event_span span = { events, count };
	struct allo_error err = { 0 };

	for (size_t i = 0; i < count; i++) {
		events[i] = (struct allo_event){ .kind = ALLO_EVENT_ALLOC,
						 .ns = times[i],
						 .size = i + 1 };
		outcomes.at[i].flags = ALLO_OUTCOME_CREATED;
	}
	assert_true(allo_timeline_add(timeline, &span, &outcomes, true, &err));
	assert_true(allo_timeline_end(timeline, times[count - 1], &err));
}

/* A file may have any times. */
static void times_may_be_as_large_as_64_bits(void **state)
{
	static const uint64_t times[] = { 5, 1 << 20, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX };
	enum { COUNT = sizeof(times) / sizeof(*times) };

	(void)state;
	for (size_t most = 2; most < 600; most = 3 * most / 2 + 1) {
		for (size_t first = 0; first < COUNT; first++) {
			ALLO_DEFER(allo_timeline_done)
			struct allo_timeline timeline = { .most = most, .from_ns = times[first] };
			uint64_t allocations = 0;

			allocate_at(&timeline, times + first, COUNT - first);
			assert_in_range(timeline.steps.len, 1, timeline.most);
			for (size_t i = 0; i < timeline.steps.len; i++)
				allocations += timeline.steps.at[i].allocations;
			assert_int_equal(allocations, COUNT - first);
			assert_int_equal(timeline.steps.at[timeline.steps.len - 1].end_blocks,
					 COUNT - first);
			assert_true(timeline.peak_ns == UINT64_MAX);
			assert_true(timeline.end_ns == UINT64_MAX);
		}
	}
}

/* The cache keeps fine steps, and serves requests for fewer. */
static void joined_steps_are_those_of_a_coarser_timeline(void **state)
{
	enum { COUNT = 40, FINE = 64 };
	uint64_t times[COUNT];

	(void)state;
	for (uint64_t seed = 1; seed < 50; seed++) {
		ALLO_DEFER(allo_timeline_done) struct allo_timeline fine = { .most = FINE };

		times[0] = 0;
		for (size_t i = 1; i < COUNT; i++)
			times[i] = times[i - 1] + (i * seed * 7919 % 13) * 500 * seed;
		allocate_at(&fine, times, COUNT);
		for (size_t most = FINE; most > 0; most--) {
			ALLO_DEFER(allo_timeline_done)
			struct allo_timeline coarse = { .most = most };

			allocate_at(&coarse, times, COUNT);
			allo_timeline_coarsen(&fine, most);
			assert_int_equal(fine.most, coarse.most);
			assert_int_equal(fine.step_ns, coarse.step_ns);
			assert_int_equal(fine.steps.len, coarse.steps.len);
			assert_memory_equal(fine.steps.at, coarse.steps.at,
					    fine.steps.len * sizeof(*fine.steps.at));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_may_be_as_large_as_64_bits),
		cmocka_unit_test(joined_steps_are_those_of_a_coarser_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
