/* test_event_stream.c - events of all streams are read in time order. */
#include "base/defer.h"
#include "check.h"
#include "recordings.h"
#include "replay/events/event_stream.h"

struct replayed {
	struct allo_input in;
	struct allo_recording recording;
	ALLO_VEC(struct allo_event) events;
	ALLO_VEC(size_t) streams;
};

static void replayed_done(struct replayed *replayed)
{
	allo_vec_done(&replayed->events);
	allo_vec_done(&replayed->streams);
	allo_recording_close(&replayed->recording);
	allo_input_close(&replayed->in);
}

static void replay(struct replayed *replayed, const struct recorder *recorder)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	struct allo_event_span span;
	struct allo_error err = { 0 };

	*replayed = (struct replayed){ 0 };
	assert_true(allo_input_open_memory(&replayed->in, "test.allo", recorder->file,
					   recorder_size(recorder), &err));
	assert_true(allo_recording_open(&replayed->recording, &replayed->in, &err));
	assert_true(allo_events_open(&events, &replayed->recording, &err));
	while (allo_events_next(&events, &span, &err)) {
		assert_true(span.count > 0);
		assert_true(allo_vec_append(&replayed->events, span.events, span.count));
		for (size_t i = 0; i < span.count; i++)
			assert_true(allo_vec_append(&replayed->streams,
						    &(size_t){ span.events[i].stream }, 1));
	}
	assert_false(allo_failed(&err));
	for (size_t i = 0; i < replayed->events.len; i++)
		events.count += allo_event_is_silent(&replayed->events.at[i]);
	assert_int_equal(events.count, replayed->events.len);
}

static void assert_event(const struct allo_event *event, struct allo_event expected)
{
	assert_int_equal(event->kind, expected.kind);
	assert_int_equal(event->pointer, expected.pointer);
	assert_int_equal(event->old, expected.old);
	assert_int_equal(event->size, expected.size);
	assert_int_equal(event->stack, expected.stack);
}

static void events_are_read_back(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(replayed_done) struct replayed replayed;
	const struct allo_event *event;
	uint32_t thread;

	(void)state;
	recorder_init(&recorder);
	thread = recorder_thread(&recorder, 1, "");
	recorder_alloc(&recorder, thread, 2024, 0x7f0000001230, (uint64_t)1 << 40, 5);
	recorder_alloc(&recorder, thread, 2024, 0x10, 0, 5);
	recorder_alloc(&recorder, thread, 2024, 0x12345, 7, 4000000000);
	recorder_resize(&recorder, thread, 3000, 0x12345);
	recorder_alloc(&recorder, thread, 4008, 0x54321, 70, 6);
	recorder_resize(&recorder, thread, 5000, 0x54321);
	recorder_resized(&recorder, thread, 5000, ALLO_ESCAPE_FAILED);
	recorder_resize(&recorder, thread, 6000, 0x54321);
	recorder_resized(&recorder, thread, 6000, ALLO_ESCAPE_GONE);
	recorder_free(&recorder, thread, 7000, 0x7f0000001230);
	replay(&replayed, &recorder);
	assert_int_equal(replayed.events.len, 7);
	event = replayed.events.at;
	assert_event(&event[0], (struct allo_event){ .kind = ALLO_EVENT_ALLOC,
						     .pointer = 0x7f0000001230,
						     .size = (uint64_t)1 << 40,
						     .stack = 5 });
	assert_int_equal(event[0].ns, 1024);
	assert_event(&event[1], (struct allo_event){ .pointer = 0x10, .stack = 5 });
	assert_event(&event[2],
		     (struct allo_event){ .pointer = 0x12345, .size = 7, .stack = 4000000000 });
	assert_event(&event[3], (struct allo_event){ .kind = ALLO_EVENT_RESIZE,
						     .pointer = 0x54321,
						     .old = 0x12345,
						     .size = 70,
						     .stack = 6 });
	assert_event(&event[4],
		     (struct allo_event){ .kind = ALLO_EVENT_RESIZE_FAILED, .pointer = 0x54321 });
	assert_event(&event[5], (struct allo_event){ .kind = ALLO_EVENT_FREE, .pointer = 0x54321 });
	assert_event(&event[6],
		     (struct allo_event){ .kind = ALLO_EVENT_FREE, .pointer = 0x7f0000001230 });
}

static void a_realloc_may_end_in_the_next_page(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(replayed_done) struct replayed replayed;
	uint32_t thread;

	(void)state;
	recorder_init(&recorder);
	thread = recorder_thread(&recorder, 1, "");
	recorder_resize(&recorder, thread, 2000, 0x1000);
	recorder_seal(&recorder, thread, true);
	recorder_alloc(&recorder, thread, 3000, 0x2000, 10, 1);
	replay(&replayed, &recorder);
	assert_int_equal(replayed.events.len, 1);
	assert_int_equal(replayed.events.at[0].kind, ALLO_EVENT_RESIZE);
	assert_int_equal(replayed.events.at[0].old, 0x1000);
}

/* Writes many events of several threads, and keeps them by time. */
static void threads_are_merged_by_time(void **state)
{
	enum { EVENTS = 200000, THREADS = 5 };
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(replayed_done) struct replayed replayed;
	ALLO_VEC(struct allo_event) expected = { 0 };
	ALLO_VEC(size_t) streams = { 0 };
	uint32_t thread[THREADS];
	uint64_t seed = 42;

	(void)state;
	recorder_init(&recorder);
	for (size_t i = 0; i < THREADS; i++) {
		thread[i] = recorder_thread(&recorder, (uint32_t)i, "");
		if (i % 2 == 0)
			recorder_escape(&recorder, thread[i], ALLO_ESCAPE_TIMED);
	}
	for (uint64_t i = 0; i < EVENTS; i++) {
		/* Times of a stream have steps of up to 64 ticks. */
		uint64_t ticks = 1000 + 64 * (i + 1);
		uint32_t stream = thread[draw(&seed, THREADS)];
		uint64_t pointer = (uint64_t)draw(&seed, 1 << 30) << 4;
		size_t index = stream - 1;

		struct allo_event event = { .pointer = pointer, .ns = ticks - 1000 };

		if (draw(&seed, 2)) {
			event.size = draw(&seed, 5000);
			event.stack = (uint32_t)draw(&seed, 10000);
			recorder_alloc(&recorder, stream, ticks, pointer, event.size, event.stack);
		} else {
			event.kind = ALLO_EVENT_FREE;
			recorder_free(&recorder, stream, ticks, pointer);
		}
		assert_true(allo_vec_append(&expected, &event, 1));
		assert_true(allo_vec_append(&streams, &index, 1));
	}
	replay(&replayed, &recorder);
	assert_int_equal(replayed.events.len, EVENTS);
	assert_true(recorder.slots > 10);
	for (size_t i = 0; i < EVENTS; i++) {
		assert_event(&replayed.events.at[i], expected.at[i]);
		assert_int_equal(replayed.events.at[i].ns, expected.at[i].ns);
		assert_int_equal(replayed.streams.at[i], streams.at[i]);
	}
	allo_vec_done(&expected);
	allo_vec_done(&streams);
}

static void equal_times_come_in_the_order_of_streams(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(replayed_done) struct replayed replayed;
	uint32_t one, two;

	(void)state;
	recorder_init(&recorder);
	one = recorder_thread(&recorder, 1, "");
	two = recorder_thread(&recorder, 2, "");
	recorder_free(&recorder, two, 2000, 0x200);
	recorder_free(&recorder, two, 2000, 0x210);
	recorder_free(&recorder, one, 2000, 0x100);
	recorder_free(&recorder, one, 2000, 0x110);
	replay(&replayed, &recorder);
	assert_int_equal(replayed.events.len, 4);
	assert_int_equal(replayed.events.at[0].pointer, 0x100);
	assert_int_equal(replayed.events.at[1].pointer, 0x110);
	assert_int_equal(replayed.events.at[2].pointer, 0x200);
	assert_int_equal(replayed.events.at[3].pointer, 0x210);
}

/* Writes invalid bytes after a valid event. */
static void assert_damaged(const uint8_t *bytes, size_t len)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(replayed_done) struct replayed replayed;
	uint32_t thread;

	recorder_init(&recorder);
	thread = recorder_thread(&recorder, 1, "");
	recorder_free(&recorder, thread, 2000, 0x100);
	recorder_put(&recorder, thread, bytes, bytes + len);
	replay(&replayed, &recorder);
	assert_int_equal(replayed.events.len, 1);
	assert_int_equal(replayed.recording.gaps.damaged_pages, 1);
}

static void invalid_events_are_damage(void **state)
{
	(void)state;
	assert_damaged((const uint8_t[]){ 0, 3 }, 2);                /* unknown escape */
	assert_damaged((const uint8_t[]){ 0, 9 }, 2);                /* realloc of 0 */
	assert_damaged((const uint8_t[]){ 0 }, 1);                   /* half an escape */
	assert_damaged((const uint8_t[]){ 0x82, 0x80 }, 2);          /* half a pointer */
	assert_damaged((const uint8_t[]){ 1, 1, 1 }, 3);             /* a pointer of 0 */
	assert_damaged((const uint8_t[]){ 0, ALLO_ESCAPE_GONE }, 2); /* no realloc was started */
	assert_damaged((const uint8_t[]){ 9, 0xfe, 0xff, 0xff, 0xff, 0x7f, 1 }, 7); /* stack */
	assert_damaged((const uint8_t[]){ 0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 1 },
		       13); /* more than 64 bits */
	assert_damaged((const uint8_t[]){ 0, ALLO_ESCAPE_NOTE, 4, 1, 1, 1 }, 6); /* unknown note */
	assert_damaged((const uint8_t[]){ 0, ALLO_ESCAPE_NOTE, 0, 1, 1, 1 }, 6);
	assert_damaged((const uint8_t[]){ 0, ALLO_ESCAPE_NOTE, ALLO_NOTE_EVENT, 1, 1 }, 5);
	assert_damaged((const uint8_t[]){ 0, ALLO_ESCAPE_NOTE, ALLO_NOTE_EVENT, 1, 0xff, 0xff, 0xff,
					  0xff, 0x10, 1 },
		       10); /* stack */
}

static void notes_come_among_the_other_events(void **state)
{
	static const struct allo_event expected[] = {
		{ .ns = 1024, .kind = ALLO_EVENT_LABELS, .note = 1 },
		{ .ns = 1216, .kind = ALLO_EVENT_MARK, .note = 2 },
		{ .ns = 1280,
		  .kind = ALLO_EVENT_RESIZE,
		  .pointer = 0x200,
		  .old = 0x105,
		  .size = 9 },
		{ .ns = 1344, .kind = ALLO_EVENT_OWN, .note = 3, .stack = 1, .size = UINT64_MAX },
		{ .ns = 1408, .kind = ALLO_EVENT_OWN, .size = 0 },
		{ .ns = 1472, .kind = ALLO_EVENT_LABELS },
	};

	(void)state;
	for (int is_timed = 0; is_timed < 2; is_timed++) {
		ALLO_DEFER(recorder_done) struct recorder recorder;
		ALLO_DEFER(replayed_done) struct replayed replayed;
		uint32_t thread;

		recorder_init(&recorder);
		recorder_node(&recorder, 0, 0x1010, 0);
		recorder_noted_text(&recorder, 1, "key");
		recorder_noted_text(&recorder, 2, "start");
		recorder_noted_text(&recorder, 3, "miss");
		recorder_noted_set(&recorder, 1, 0, 1, 2);
		thread = recorder_thread(&recorder, 1, "");
		if (is_timed)
			recorder_escape(&recorder, thread, ALLO_ESCAPE_TIMED);
		recorder_labels(&recorder, thread, 2024, 1);
		recorder_labels(&recorder, thread, 2088, 1); /* no change */
		recorder_resize(&recorder, thread, 2152, 0x105);
		recorder_mark(&recorder, thread, 2216, 2); /* inside a realloc */
		recorder_alloc(&recorder, thread, 2280, 0x200, 9, 0);
		recorder_own_event(&recorder, thread, 2344, 3, 1, UINT64_MAX);
		recorder_own_event(&recorder, thread, 2408, 77, 78, 0); /* missing texts and sets */
		recorder_labels(&recorder, thread, 2472, 79);
		replay(&replayed, &recorder);
		assert_int_equal(replayed.recording.gaps.damaged_pages, 0);
		assert_int_equal(replayed.events.len, 6);
		for (size_t i = 0; i < 6; i++) {
			assert_event(&replayed.events.at[i], expected[i]);
			assert_int_equal(replayed.events.at[i].ns, expected[i].ns);
		}
	}
}

static void a_fresh_page_has_no_labels(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(replayed_done) struct replayed replayed;
	const struct allo_event *events;
	uint32_t thread;

	(void)state;
	recorder_init(&recorder);
	recorder_noted_text(&recorder, 1, "key");
	recorder_noted_set(&recorder, 1, 0, 1, 1);
	thread = recorder_thread(&recorder, 1, "");
	recorder_labels(&recorder, thread, 2024, 1);
	recorder_seal(&recorder, thread, true);
	recorder_alloc(&recorder, thread, 2088, 0x100, 9, 0); /* with labels */
	recorder_seal(&recorder, thread, true);
	recorder_tail(&recorder, thread)->is_fresh = 1;
	recorder.streams[thread].state = (struct allo_event_state){
		.ticks = recorder_tail(&recorder, thread)->from[0],
		.pointer = recorder_tail(&recorder, thread)->from[1],
	};
	recorder_alloc(&recorder, thread, 3048, 0x200, 9, 0);
	replay(&replayed, &recorder);
	events = replayed.events.at;
	assert_int_equal(replayed.events.len, 4);
	assert_event(&events[0], (struct allo_event){ .kind = ALLO_EVENT_LABELS, .note = 1 });
	assert_event(&events[1], (struct allo_event){ .pointer = 0x100, .size = 9 });
	assert_event(&events[2], (struct allo_event){ .kind = ALLO_EVENT_LABELS });
	assert_event(&events[3], (struct allo_event){ .pointer = 0x200, .size = 9 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_read_back),
		cmocka_unit_test(a_realloc_may_end_in_the_next_page),
		cmocka_unit_test(threads_are_merged_by_time),
		cmocka_unit_test(equal_times_come_in_the_order_of_streams),
		cmocka_unit_test(invalid_events_are_damage),
		cmocka_unit_test(notes_come_among_the_other_events),
		cmocka_unit_test(a_fresh_page_has_no_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
