/* test_event_columns.c - reading columns returns the events that were written. */
#include "base/defer.h"
#include "base/io/zstd_frame.h"
#include "check.h"
#include "random.h"
#include "replay/packed/modelled_columns.h"

#include <stdlib.h>
#include <zstd.h>

enum {
	SITES = 300,
	STREAMS = 3,
	SPANS = 400,
	EVENTS_MAX = SPANS * 2 * ALLO_EVENTS_AT_ONCE,
	ADDRESSES = 2000,
};

/* By stream. */
static const uint32_t threads[STREAMS] = { 1, 2, 0 };

/* Columns that are written and read. */
struct trip {
	struct allo_recording recording;      /* with that many stacks and streams */
	struct allo_live_blocks blocks, same; /* the second one computes the expected events */
	struct allo_outcomes outcomes;
	struct allo_event_columns columns;
	struct allo_column_state writing, reading;
	struct allo_column_reader reader;
	struct allo_column_modeller modeller; /* if events are modelled */
	struct allo_event *expected;          /* expected events */
	size_t count;
	uint8_t *packed, *bytes;
	size_t packed_len, len;
};

/* Some stacks have made so many blocks that the next numbers are large, or wrap to 0. */
static void set_made(struct trip *trip)
{
	static const uint32_t made[] = { 0, 1, 200, 70000, 0x7fffffff, UINT32_MAX - 2 };

	for (size_t i = 0; i < SITES; i++) {
		trip->reading.sites[i].blocks = made[i % (sizeof(made) / sizeof(*made))];
		trip->blocks.made[i] = trip->same.made[i] = trip->reading.sites[i].blocks;
	}
}

static void trip_init(struct trip *trip)
{
	struct allo_error err = { 0 };

	*trip = (struct trip){ 0 };
	assert_true(allo_vec_cover(&trip->recording.nodes, SITES));
	assert_true(allo_vec_cover(&trip->recording.streams, STREAMS));
	assert_true(allo_live_blocks_init(&trip->blocks, &trip->recording, &err));
	assert_true(allo_live_blocks_init(&trip->same, &trip->recording, &err));
	trip->expected = calloc(EVENTS_MAX, sizeof(*trip->expected));
	assert_non_null(trip->expected);
	trip->columns.threads = threads;
	assert_true(allo_column_state_init(&trip->writing, SITES, &err));
	assert_true(allo_column_state_init(&trip->reading, SITES, &err));
	set_made(trip);
}

/* From here on one model writes events, and another one reads them. */
static void set_modelled(struct trip *trip)
{
	struct allo_error err = { 0 };

	assert_true(allo_column_modeller_init(&trip->modeller, SITES, STREAMS, &err));
	trip->reader.model = allo_event_model_new(SITES);
	assert_non_null(trip->reader.model);
	for (size_t i = 0; i < SITES; i++)
		trip->blocks.made[i] = trip->same.made[i] = 0;
}

static void trip_done(struct trip *trip)
{
	allo_column_modeller_done(&trip->modeller);
	allo_event_model_free(trip->reader.model);
	allo_vec_done(&trip->recording.nodes);
	allo_vec_done(&trip->recording.streams);
	allo_live_blocks_done(&trip->blocks);
	allo_live_blocks_done(&trip->same);
	allo_event_columns_done(&trip->columns);
	allo_column_state_done(&trip->writing);
	allo_column_state_done(&trip->reading);
	free(trip->expected);
	free(trip->packed);
	free(trip->bytes);
}

static void expect(struct trip *trip, const struct allo_event *event)
{
	trip->expected[trip->count++] = *event;
}

static uint64_t key_of(const struct allo_outcome *ended)
{
	return allo_block_key(ended->stack, ended->number);
}

/* The expected event: with names of blocks. */
static void expect_outcome(struct trip *trip, struct allo_event event,
			   const struct allo_outcome *outcome, const struct allo_outcome *retired)
{
	uint64_t ended = outcome->flags & ALLO_OUTCOME_ENDED ? key_of(outcome) : 0;

	if (outcome->flags & ALLO_OUTCOME_RETIRED)
		expect(trip, &(struct allo_event){ .ns = event.ns,
						   .stream = event.stream,
						   .kind = ALLO_EVENT_RETIRE,
						   .pointer = key_of(retired) });
	event.pointer = ended;
	if (event.kind < ALLO_EVENT_LABELS)
		event.old = 0;
	if (outcome->flags & ALLO_OUTCOME_CREATED) {
		event.pointer = allo_block_key(event.stack,
					       (uint32_t)trip->same.made[outcome->new_stack]);
		event.old = ended;
	}
	expect(trip, &event);
}

static void put(struct trip *trip, const struct allo_event_span *span)
{
	struct allo_outcomes *outcomes = &trip->outcomes;
	struct allo_error err = { 0 };

	for (size_t i = 0; i < span->count; i++) {
		struct allo_event_span one = { &span->events[i], 1 };

		assert_true(allo_live_blocks_apply(&trip->same, &one, outcomes, &err));
		expect_outcome(trip, span->events[i], &outcomes->at[0], &outcomes->retired[0]);
	}
	assert_true(
		allo_event_columns_put(&trip->columns, &trip->writing, &trip->blocks, span, &err));
}

static void pack_and_unpack(struct trip *trip)
{
	ZSTD_CCtx *packer = ZSTD_createCCtx();
	struct allo_zstd_unpacker *unpacker = allo_zstd_unpacker_new();
	size_t room;

	if (trip->modeller.model)
		assert_true(allo_event_columns_model(&trip->columns, &trip->modeller));
	room = allo_event_columns_bound(&trip->columns);
	trip->len = allo_event_columns_size(&trip->columns);
	free(trip->packed);
	free(trip->bytes);
	trip->packed = malloc(room);
	trip->bytes = malloc(trip->len + 1);
	assert_true(packer && unpacker && trip->packed && trip->bytes);
	trip->packed_len = allo_event_columns_pack(&trip->columns, packer, trip->packed, room);
	assert_true(trip->packed_len > 0);
	assert_true(allo_event_columns_unpack(
		&trip->reader, unpacker, ALLO_COLUMNS, trip->columns.count,
		(struct allo_text){ (const char *)trip->packed, trip->packed_len }, trip->bytes,
		trip->len));
	ZSTD_freeCCtx(packer);
	allo_zstd_unpacker_free(unpacker);
}

static void is_expected(const struct allo_event *event, const struct allo_event *expected)
{
	assert_int_equal(event->kind, expected->kind);
	assert_int_equal(event->pointer, expected->pointer);
	assert_int_equal(event->old, expected->old);
	assert_int_equal(event->size, expected->size);
	assert_int_equal(event->stack, expected->stack);
}

/* Reads all events, at most `room` at once. */
static void take_all(struct trip *trip, size_t room)
{
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
	size_t got, at = 0;

	while ((got = allo_event_columns_take(&trip->reader, &trip->reading, events, room,
					      STREAMS)) > 0) {
		for (size_t i = 0; i < got; i++, at++) {
			is_expected(&events[i], &trip->expected[at]);
			assert_int_equal(events[i].stream, threads[trip->expected[at].stream]);
		}
	}
	assert_false(trip->reader.is_damaged);
	assert_int_equal(at, trip->count);
}

/* Their sum fits 64 bits. */
static uint64_t draw_size(uint64_t *seed)
{
	static const uint64_t sizes[] = { 0, 1, 24, 100, 127, 128, 5000, UINT32_MAX, 1ull << 44 };

	return sizes[draw(seed, sizeof(sizes) / sizeof(*sizes))];
}

/* A live block, one that may be retired, or none. */
static uint64_t draw_address(uint64_t *seed)
{
	return (1 + (uint64_t)draw(seed, ADDRESSES)) * 16;
}

static void draw_note(uint64_t *seed, struct allo_event *event)
{
	static const uint32_t numbers[] = { 0, 1, 127, 128, UINT32_MAX };

	event->note = numbers[draw(seed, sizeof(numbers) / sizeof(*numbers))];
	if (event->kind == ALLO_EVENT_OWN) {
		event->stack = draw(seed, SITES);
		event->size = draw_size(seed);
	}
}

static void draw_event(uint64_t *seed, struct allo_event *event)
{
	/* Most events take the fast path. */
	static const enum allo_event_kind kinds[] = {
		ALLO_EVENT_ALLOC,  ALLO_EVENT_ALLOC,  ALLO_EVENT_FREE,
		ALLO_EVENT_FREE,   ALLO_EVENT_RESIZE, ALLO_EVENT_RESIZE_FAILED,
		ALLO_EVENT_LABELS, ALLO_EVENT_MARK,   ALLO_EVENT_OWN,
	};

	event->kind = kinds[draw(seed, sizeof(kinds) / sizeof(*kinds))];
	if (event->kind >= ALLO_EVENT_LABELS) {
		draw_note(seed, event);
		return;
	}
	event->pointer = draw_address(seed);
	if (event->kind == ALLO_EVENT_RESIZE)
		event->old = draw_address(seed);
	if (event->kind == ALLO_EVENT_ALLOC || event->kind == ALLO_EVENT_RESIZE) {
		event->stack = draw(seed, SITES);
		event->size = draw_size(seed);
	}
}

static void put_random_span(struct trip *trip, uint64_t *seed, uint64_t ns)
{
	struct allo_event events[ALLO_EVENTS_AT_ONCE] = { 0 };
	struct allo_event_span span = { events, 1 + draw(seed, ALLO_EVENTS_AT_ONCE) };

	for (size_t i = 0; i < span.count; i++) {
		events[i].ns = ns;
		events[i].stream = (draw(seed, 4) ? 1 : draw(seed, STREAMS)) & ALLO_STREAMS_MAX;
		draw_event(seed, &events[i]);
	}
	put(trip, &span);
}

static void events_of_every_kind_are_read_back(void **state)
{
	for (size_t room = 1; room <= ALLO_EVENTS_AT_ONCE; room *= 16) {
		ALLO_DEFER(trip_done) struct trip trip;
		uint64_t seed = room;

		(void)state;
		trip_init(&trip);
		allo_event_columns_begin(&trip.columns);
		for (uint64_t i = 0; i < SPANS; i++)
			put_random_span(&trip, &seed, i * 100);
		assert_int_equal(trip.columns.count, trip.count);
		pack_and_unpack(&trip);
		take_all(&trip, room);
	}
}

static void modelled_events_are_read_back(void **state)
{
	ALLO_DEFER(trip_done) struct trip trip;
	uint64_t seed = 77;

	(void)state;
	trip_init(&trip);
	set_modelled(&trip);
	/* The model keeps its state across chunks.  Only the first chunk has columns, because the
	 * decision for a model comes after it. */
	for (uint64_t chunk = 0; chunk < 4; chunk++) {
		trip.count = 0;
		trip.columns.is_for_model = chunk > 0;
		allo_event_columns_begin(&trip.columns);
		for (uint64_t i = 0; i < SPANS / 4; i++)
			put_random_span(&trip, &seed, (chunk * SPANS + i) * 100);
		assert_int_equal(trip.columns.count, trip.count);
		pack_and_unpack(&trip);
		assert_true(trip.reader.is_modelled);
		take_all(&trip, 100);
	}
}

/* Blocks of three stacks that are allocated together and freed together, in random order. */
static void put_shuffled(struct trip *trip, uint64_t *seed, bool frees_in_order)
{
	enum { GROUPS = 4096 };
	static uint32_t order[GROUPS];
	struct allo_event events[3] = { 0 };
	struct allo_event_span span = { events, 3 };

	for (uint32_t i = 0; i < GROUPS; i++) {
		uint32_t other = frees_in_order ? i : draw(seed, i + 1);

		order[i] = order[other];
		order[other] = i;
	}
	for (uint32_t i = 0; i < 2 * GROUPS; i++) {
		for (uint32_t stack = 0; stack < 3; stack++) {
			uint64_t group = i < GROUPS ? i : order[i - GROUPS];

			events[stack] = (struct allo_event){
				.kind = i < GROUPS ? ALLO_EVENT_ALLOC : ALLO_EVENT_FREE,
				.pointer = (3 * group + stack + 1) * 16,
				.size = i < GROUPS ? 24 : 0,
				.stack = i < GROUPS ? stack + 1 : 0,
			};
		}
		put(trip, &span);
	}
}

/* Their order takes at most 12 bits per block; the order of the other two stacks is the same. */
static void a_random_order_is_modelled_and_takes_its_entropy(void **state)
{
	ALLO_DEFER(trip_done) struct trip trip;
	uint64_t seed = 5;

	(void)state;
	trip_init(&trip);
	set_modelled(&trip);
	allo_event_columns_begin(&trip.columns);
	for (int i = 0; i < 4; i++)
		put_shuffled(&trip, &seed, false);
	assert_true(allo_event_columns_want_model(&trip.columns, SITES));
	pack_and_unpack(&trip);
	assert_true(trip.packed_len < 4 * 4096 * 12 / 8);
	take_all(&trip, ALLO_EVENTS_AT_ONCE);
}

static void a_predictable_order_is_not_modelled(void **state)
{
	ALLO_DEFER(trip_done) struct trip trip;
	uint64_t seed = 5;

	(void)state;
	trip_init(&trip);
	allo_event_columns_begin(&trip.columns);
	for (int i = 0; i < 4; i++)
		put_shuffled(&trip, &seed, true);
	assert_false(allo_event_columns_want_model(&trip.columns, SITES));
}

/* Writes one event at each time, and returns the times that are read. */
static void trip_of_times(const uint64_t *times, size_t count, uint64_t *out)
{
	ALLO_DEFER(trip_done) struct trip trip;
	struct allo_event event = { .kind = ALLO_EVENT_FREE };

	trip_init(&trip);
	allo_event_columns_begin(&trip.columns);
	for (size_t i = 0; i < count; i++) {
		event.ns = times[i];
		put(&trip, &(struct allo_event_span){ &event, 1 });
	}
	pack_and_unpack(&trip);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(
			allo_event_columns_take(&trip.reader, &trip.reading, &event, 1, STREAMS),
			1);
		out[i] = event.ns;
	}
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void times_are_rounded_by_an_eighth_of_their_distance(void **state)
{
	enum { TIMES = 5000 };
	uint64_t times[TIMES], out[TIMES], seed = 5, before = 0;

	(void)state;
	for (size_t i = 0; i < TIMES; i++)
		times[i] = before += 1 + draw(&seed, 1u << draw(&seed, 30));
	trip_of_times(times, TIMES, out);
	before = 0;
	for (size_t i = 0; i < TIMES; i++) {
		uint64_t since = times[i] > before ? times[i] - before : 0;

		if (since >= 1 << 15)
			assert_true(distance(times[i], out[i]) < 1024);
		else if (since > 0)
			assert_true(distance(times[i], out[i]) <= since / 8);
		else
			assert_int_equal(out[i], before);
		assert_true(i == 0 || out[i] >= out[i - 1]);
		before = out[i];
	}
}

static void even_the_longest_time_is_kept(void **state)
{
	const uint64_t times[] = { 7, 8, UINT64_MAX / 2, UINT64_MAX / 2 + 20 };
	uint64_t out[4];

	(void)state;
	trip_of_times(times, 4, out);
	assert_int_equal(out[0], 7);
	assert_int_equal(out[1], 8);
	assert_true(distance(times[2], out[2]) < 1024);
}

/* Truncates each column, and changes each byte. */
static void damaged_columns_are_noticed_or_harmless(void **state)
{
	ALLO_DEFER(trip_done) struct trip trip;
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
	struct allo_column_reader whole;
	uint64_t seed = 3;

	(void)state;
	trip_init(&trip);
	allo_event_columns_begin(&trip.columns);
	for (uint64_t i = 0; i < 5; i++)
		put_random_span(&trip, &seed, i * 10000);
	pack_and_unpack(&trip);
	whole = trip.reader;
	for (size_t i = 0; i < trip.len + ALLO_COLUMNS; i++) {
		size_t got = 0, more;

		trip.reader = whole;
		memset(trip.reading.sites, 0, SITES * sizeof(*trip.reading.sites));
		trip.reading.stack = trip.reading.ended_stack = trip.reading.thread = 0;
		if (i < trip.len)
			trip.bytes[i] ^= 0xa5;
		else if (trip.reader.end[i - trip.len] > trip.reader.at[i - trip.len])
			trip.reader.end[i - trip.len]--;
		while ((more = allo_event_columns_take(&trip.reader, &trip.reading, events,
						       ALLO_EVENTS_AT_ONCE, STREAMS)) > 0)
			got += more;
		assert_true(trip.reader.is_damaged || got >= trip.count - 1);
		if (i < trip.len)
			trip.bytes[i] ^= 0xa5;
	}
}

static void wrong_lengths_are_refused(void **state)
{
	ALLO_DEFER(trip_done) struct trip trip;
	uint64_t seed = 9;
	struct allo_zstd_unpacker *unpacker = allo_zstd_unpacker_new();

	(void)state;
	assert_non_null(unpacker);
	trip_init(&trip);
	allo_event_columns_begin(&trip.columns);
	put_random_span(&trip, &seed, 5);
	pack_and_unpack(&trip);
	for (size_t i = 0; i < 2 * ALLO_COLUMNS; i++) {
		trip.packed[i] ^= 0x7f;
		assert_false(allo_event_columns_unpack(
			&trip.reader, unpacker, ALLO_COLUMNS, trip.columns.count,
			(struct allo_text){ (const char *)trip.packed, trip.packed_len },
			trip.bytes, trip.len));
		trip.packed[i] ^= 0x7f;
	}
	for (size_t len = 0; len < trip.packed_len; len++)
		assert_false(allo_event_columns_unpack(
			&trip.reader, unpacker, ALLO_COLUMNS, trip.columns.count,
			(struct allo_text){ (const char *)trip.packed, len }, trip.bytes,
			trip.len));
	allo_zstd_unpacker_free(unpacker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_every_kind_are_read_back),
		cmocka_unit_test(modelled_events_are_read_back),
		cmocka_unit_test(a_random_order_is_modelled_and_takes_its_entropy),
		cmocka_unit_test(a_predictable_order_is_not_modelled),
		cmocka_unit_test(times_are_rounded_by_an_eighth_of_their_distance),
		cmocka_unit_test(even_the_longest_time_is_kept),
		cmocka_unit_test(damaged_columns_are_noticed_or_harmless),
		cmocka_unit_test(wrong_lengths_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
