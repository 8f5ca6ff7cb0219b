/* test_event_ahead.c - a thread that reads ahead returns the same events. */
#include "check.h"
#include "replay/events/event_ahead.h"

/* Returns spans of 1, 2, 3, ... events, and then the end or a failure. */
static struct {
	size_t spans, next;
	uint64_t events;
	bool fails;
	struct allo_event at[ALLO_EVENTS_AT_ONCE];
} source;

static size_t count_of(size_t span)
{
	return 1 + span % ALLO_EVENTS_AT_ONCE;
}

static bool read_span(struct allo_events *events, struct allo_event_span *span, size_t *silent,
		      struct allo_error *err)
{
	assert_null(events->recording);
	if (source.next == source.spans)
		return source.fails && allo_fail_memory(err);
	*span = (struct allo_event_span){ source.at, count_of(source.next) };
	*silent = source.next++ % 3;
	for (size_t i = 0; i < span->count; i++)
		source.at[i] = (struct allo_event){ .ns = source.events++ };
	return true;
}

static struct allo_event_ahead *start(struct allo_events *events, size_t spans, bool fails)
{
	struct allo_event_ahead *ahead;

	source.spans = spans;
	source.next = 0;
	source.events = 0;
	source.fails = fails;
	ahead = allo_event_ahead_start(events, read_span);
	assert_non_null(ahead);
	return ahead;
}

/* Takes `count` spans. */
static void take(struct allo_event_ahead *ahead, size_t spans)
{
	struct allo_error err = { 0 };
	struct allo_event_span span;
	uint64_t next = 0;
	size_t silent;

	for (size_t i = 0; i < spans; i++) {
		assert_true(allo_event_ahead_next(ahead, &span, &silent, &err));
		assert_int_equal(span.count, count_of(i));
		assert_int_equal(silent, i % 3);
		for (size_t k = 0; k < span.count; k++)
			assert_int_equal(span.events[k].ns, next++);
	}
}

static void events_come_in_order(void **state)
{
	static const size_t counts[] = { 0, 1, 15, 16, 17, 127, 128, 129, 10000 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct allo_events events = { 0 };
		struct allo_event_ahead *ahead = start(&events, counts[i], false);
		struct allo_error err = { 0 };
		struct allo_event_span span;
		size_t silent;

		take(ahead, counts[i]);
		assert_false(allo_event_ahead_next(ahead, &span, &silent, &err));
		assert_false(allo_event_ahead_next(ahead, &span, &silent, &err));
		assert_false(allo_failed(&err));
		allo_event_ahead_stop(ahead);
	}
}

static void a_failure_comes_after_the_events_before_it(void **state)
{
	struct allo_events events = { 0 };
	struct allo_event_ahead *ahead = start(&events, 1000, true);
	struct allo_error err = { 0 };
	struct allo_event_span span;
	size_t silent;

	(void)state;
	take(ahead, 1000);
	assert_false(allo_event_ahead_next(ahead, &span, &silent, &err));
	assert_true(allo_failed(&err));
	allo_event_ahead_stop(ahead);
}

static void reading_may_stop_early(void **state)
{
	(void)state;
	for (size_t taken = 0; taken < 300; taken += 37) {
		struct allo_events events = { 0 };
		struct allo_event_ahead *ahead = start(&events, SIZE_MAX, false);

		take(ahead, taken);
		allo_event_ahead_stop(ahead);
	}
	allo_event_ahead_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_in_order),
		cmocka_unit_test(a_failure_comes_after_the_events_before_it),
		cmocka_unit_test(reading_may_stop_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
