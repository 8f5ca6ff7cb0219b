/* test_recording.c - complete recordings, cut recordings, and recordings with missing parts. */
#include "base/defer.h"
#include "check.h"
#include "recorder.h"
#include "replay/heap.h"
#include "replay/recording/module_search.h"

static bool open_memory(struct allo_recording *recording, struct allo_input *in, const void *data,
			size_t len, struct allo_error *err)
{
	return allo_input_open_memory(in, "test.allo", data, len, err) &&
	       allo_recording_open(recording, in, err);
}

/* A recording with two modules, three nodes and one thread. */
static void record(struct recorder *recorder)
{
	uint32_t thread;

	recorder_init(recorder);
	recorder_module(recorder, 0, 0x1000, 0x2000, "/usr/bin/server");
	recorder_module(recorder, 0, 0x8000, 0x9000, "/lib/libc.so.6");
	recorder_node(recorder, 0, 0x1010, 0);
	recorder_node(recorder, 1, 0x1020, 0);
	recorder_node(recorder, 1, 0x8030, ALLO_STACK_EXACT_PC);
	thread = recorder_thread(recorder, 4711, "server");
	recorder_alloc(recorder, thread, 2000, 0x50000, 100, 2);
	recorder_alloc(recorder, thread, 3000, 0x50100, 200, 3);
	recorder_free(recorder, thread, 4000, 0x50000);
}

static void the_head_describes_the_run(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	record(&recorder);
	assert_true(open_memory(&recording, &in, recorder.file, recorder_size(&recorder), &err));
	assert_text_equal(recording.program, "/usr/bin/server");
	assert_text_equal(recording.folder, "/srv");
	assert_text_equal(recording.host, "box");
	assert_int_equal(recording.arguments.len, 3);
	assert_text_equal(recording.arguments.at[0], "server");
	assert_text_equal(recording.arguments.at[2], "80");
	assert_int_equal(recording.head.pid, 4711);
	assert_int_equal(allo_recording_duration(&recording), 999000);
	assert_int_equal(recording.streams.len, 3);
	assert_text_equal(recording.streams.at[2].name, "server");
	assert_int_equal(recording.streams.at[2].thread, 4711);
	assert_false(recording.gaps.is_cut);
	assert_int_equal(recording.gaps.missing_pages, 0);
	assert_int_equal(recording.gaps.damaged_pages, 0);
}

static const struct allo_loaded_module *module_at(const struct allo_recording *recording,
						  uint64_t address, uint32_t generation)
{
	ALLO_DEFER(allo_module_search_done) struct allo_module_search search = { 0 };
	struct allo_error err = { 0 };

	assert_true(allo_module_search_init(&search, recording, &err));
	return allo_module_search_find(&search, address, generation);
}

static void nodes_have_parents_and_modules(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	const struct allo_loaded_module *module;
	struct allo_error err = { 0 };

	(void)state;
	record(&recorder);
	assert_true(open_memory(&recording, &in, recorder.file, recorder_size(&recorder), &err));
	assert_int_equal(recording.nodes.len, 4);
	assert_int_equal(recording.nodes.at[2].parent, 1);
	assert_int_equal(recording.nodes.at[2].pc, 0x1020);
	assert_int_equal(allo_recorded_node_address(&recording.nodes.at[2]), 0x101f);
	assert_int_equal(allo_recorded_node_address(&recording.nodes.at[3]), 0x8030);
	module = module_at(&recording, 0x8030, 0);
	assert_non_null(module);
	assert_text_equal(module->path, "/lib/libc.so.6");
	assert_text_equal(module->build_id, "deadbeef");
	assert_null(module_at(&recording, 0x2000, 0));
	assert_null(module_at(&recording, 0xfff, 0));
}

static void a_module_is_found_in_its_generations(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	uint8_t gone[16], *at;
	struct allo_error err = { 0 };

	(void)state;
	record(&recorder);
	at = allo_varint_put(allo_varint_put(gone, 5), 0x8000);
	recorder_fact(&recorder, ALLO_FACT_MODULE_GONE, gone, (size_t)(at - gone));
	recorder_module(&recorder, 6, 0x7f00, 0x8f00, "/lib/plugin.so");
	recorder_generation(&recorder, 6);
	recorder_node(&recorder, 0, 0x8031, 0);
	assert_true(open_memory(&recording, &in, recorder.file, recorder_size(&recorder), &err));
	assert_text_equal(module_at(&recording, 0x8030, 4)->path, "/lib/libc.so.6");
	assert_null(module_at(&recording, 0x8030, 5));
	assert_text_equal(module_at(&recording, 0x8030, 6)->path, "/lib/plugin.so");
	assert_int_equal(recording.nodes.at[3].generation, 0);
	assert_int_equal(recording.nodes.at[4].generation, 6);
}

static void callers_of_a_cut_frame_are_unknown(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	record(&recorder);
	recorder_node(&recorder, 0, 0x1030, ALLO_STACK_CUT);
	recorder_node(&recorder, 4, 0x1040, ALLO_STACK_GUESSED);
	assert_true(open_memory(&recording, &in, recorder.file, recorder_size(&recorder), &err));
	assert_int_equal(recording.nodes.at[3].flags & ALLO_NODE_PARTIAL, 0);
	assert_int_equal(recording.nodes.at[4].flags,
			 ALLO_NODE_KNOWN | ALLO_NODE_CUT | ALLO_NODE_PARTIAL);
	assert_int_equal(recording.nodes.at[5].flags,
			 ALLO_NODE_KNOWN | ALLO_NODE_GUESSED | ALLO_NODE_PARTIAL);
}

static void facts_of_later_versions_are_skipped(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	record(&recorder);
	recorder_fact(&recorder, (enum allo_fact)99, (const uint8_t *)"later", 5);
	recorder_module(&recorder, 0, 0x900000, 0x910000, "/lib/behind.so");
	assert_true(open_memory(&recording, &in, recorder.file, recorder_size(&recorder), &err));
	assert_text_equal(module_at(&recording, 0x900010, 0)->path, "/lib/behind.so");
	assert_int_equal(recording.gaps.damaged_pages, 0);
}

/* Replays, and returns the number of events. */
static uint64_t replay(const void *data, size_t len, struct allo_gaps *gaps)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_error err = { 0 };
	uint64_t events = 0;

	assert_true(open_memory(&recording, &in, data, len, &err));
	assert_true(allo_heap_replay(&heap, &recording, &(struct allo_heap_options){ 0 }, &events,
				     &err));
	*gaps = recording.gaps;
	return events;
}

static void every_prefix_opens(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	struct allo_gaps gaps;
	uint64_t before = 0;
	size_t size;

	(void)state;
	record(&recorder);
	recorder_seal(&recorder, 3, true);
	recorder_free(&recorder, 3, 5000, 0x50100);
	size = recorder_size(&recorder);
	for (size_t len = sizeof(ALLO_HEAD_MAGIC) - 1; len <= size; len++) {
		uint64_t events;
		/* Cutting the unused rest of a slot changes nothing. */
		size_t within = len % ALLO_SLOT_SIZE;

		if (within > 1000 && within < ALLO_SLOT_SIZE - 10)
			continue;
		events = replay(recorder.file, len, &gaps);
		assert_true(events >= before);
		assert_true(events == 4 || gaps.is_cut || gaps.missing_pages > 0);
		before = events;
	}
	assert_int_equal(before, 4);
	assert_false(gaps.is_cut);
	assert_int_equal(gaps.damaged_pages, 0);
}

static void a_sealed_tail_counts_once(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	struct allo_gaps gaps;

	(void)state;
	record(&recorder);
	recorder_seal(&recorder, 3, false);
	assert_int_equal(replay(recorder.file, recorder_size(&recorder), &gaps), 3);
	assert_int_equal(gaps.missing_pages, 0);
	assert_int_equal(gaps.damaged_pages, 0);
}

static void blank_slots_are_skipped(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	struct allo_gaps gaps;

	(void)state;
	record(&recorder);
	recorder_add_slot(&recorder);
	recorder_seal(&recorder, 3, true);
	recorder_add_slot(&recorder);
	recorder_add_slot(&recorder);
	recorder_free(&recorder, 3, 5000, 0x50100);
	assert_int_equal(replay(recorder.file, recorder_size(&recorder), &gaps), 4);
	assert_false(gaps.is_cut);
	assert_int_equal(gaps.damaged_pages, 0);
}

/* Three pages of which the second is missing. */
static void lose_a_block(struct recorder *recorder, bool is_fresh_again)
{
	size_t slot;

	record(recorder);
	recorder_seal(recorder, 3, true);
	recorder_free(recorder, 3, 5000, 0x50100);
	slot = recorder->slots;
	recorder_seal(recorder, 3, true);
	memset(recorder->file + slot * ALLO_SLOT_SIZE, 0, ALLO_SLOT_SIZE);
	if (is_fresh_again) {
		recorder_tail(recorder, 3)->is_fresh = 1;
		memset(recorder->streams[3].state.predictions, 0,
		       sizeof(recorder->streams[3].state.predictions));
		recorder->streams[3].state.stack = 0;
	}
	recorder_alloc(recorder, 3, 6000, 0x50200, 300, 2);
	recorder_seal(recorder, 3, true);
	recorder_alloc(recorder, 3, 7000, 0x50400, 300, 2);
}

static void pages_after_a_missing_one_are_skipped(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	struct allo_gaps gaps;

	(void)state;
	lose_a_block(&recorder, false);
	assert_int_equal(replay(recorder.file, recorder_size(&recorder), &gaps), 3);
	assert_int_equal(gaps.missing_pages, 1);
	assert_int_equal(gaps.unread_pages, 2);
}

static void a_fresh_page_needs_no_earlier_page(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	struct allo_gaps gaps;

	(void)state;
	lose_a_block(&recorder, true);
	assert_int_equal(replay(recorder.file, recorder_size(&recorder), &gaps), 5);
	assert_int_equal(gaps.missing_pages, 1);
	assert_int_equal(gaps.unread_pages, 0);
}

/* A recording that is written: the file changes between opening and reading. */
static void a_reused_tail_is_skipped(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_error err = { 0 };
	uint64_t events;

	(void)state;
	record(&recorder);
	assert_true(open_memory(&recording, &in, recorder.file, recorder_size(&recorder), &err));
	recorder_tail(&recorder, 3)->sequence++;
	recorder_tail(&recorder, 3)->used = 0;
	assert_true(allo_heap_replay(&heap, &recording, &(struct allo_heap_options){ 0 }, &events,
				     &err));
	assert_int_equal(events, 0);
	assert_int_equal(recording.gaps.damaged_pages, 1);
}

static void invalid_slots_are_damaged(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	struct allo_gaps gaps;

	(void)state;
	record(&recorder);
	recorder_tail(&recorder, 3)->used = ALLO_SLOT_ROOM + 1;
	assert_int_equal(replay(recorder.file, recorder_size(&recorder), &gaps), 0);
	assert_int_equal(gaps.damaged_pages, 1);
	assert_int_equal(gaps.missing_streams, 1);
	recorder_tail(&recorder, 3)->used = 0;
	recorder_tail(&recorder, 3)->kind = 9;
	replay(recorder.file, recorder_size(&recorder), &gaps);
	assert_int_equal(gaps.damaged_pages, 1);
	recorder_tail(&recorder, 3)->kind = ALLO_STREAM_EVENTS;
	recorder_tail(&recorder, 3)->stream = 0;
	replay(recorder.file, recorder_size(&recorder), &gaps);
	assert_int_equal(gaps.damaged_pages, 1);
}

static void wrong_node_numbers_take_no_memory(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	struct allo_gaps gaps;

	(void)state;
	record(&recorder);
	recorder_tail(&recorder, RECORDER_STACKS)->from[0] = UINT32_MAX - 2;
	assert_int_equal(replay(recorder.file, recorder_size(&recorder), &gaps), 3);
	assert_int_equal(gaps.damaged_pages, 1);
	assert_int_equal(gaps.missing_stacks, 2);
	recorder_tail(&recorder, RECORDER_STACKS)->from[0] = UINT64_MAX - 1;
	replay(recorder.file, recorder_size(&recorder), &gaps);
	assert_int_equal(gaps.damaged_pages, 1);
}

static void lost_events_are_counted(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	struct allo_gaps gaps;

	(void)state;
	record(&recorder);
	recorder_seal(&recorder, 3, true);
	recorder_tail(&recorder, 3)->dropped = 17;
	replay(recorder.file, recorder_size(&recorder), &gaps);
	assert_int_equal(gaps.dropped_events, 17);
}

static void assert_refused(const struct recorder *recorder, const char *why)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	assert_false(open_memory(&recording, &in, recorder->file, recorder_size(recorder), &err));
	assert_int_equal(err.code, ALLO_FORMAT);
	assert_non_null(strstr(err.message, why));
}

static void other_versions_and_machines_are_refused(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;

	(void)state;
	record(&recorder);
	recorder_head(&recorder)->version = ALLO_RATES_VERSION + 1;
	assert_refused(&recorder, "version 6");
	recorder_head(&recorder)->version = ALLO_WIRE_VERSION;
	recorder_head(&recorder)->byte_order = 0x04030201;
	assert_refused(&recorder, "byte order");
	recorder_head(&recorder)->byte_order = ALLO_BYTE_ORDER;
	recorder_head(&recorder)->slot_size = 4096;
	assert_refused(&recorder, "slots of 4096");
}

static void ticks_become_nanoseconds(void **state)
{
	struct allo_recording recording = { .head.first = { 1000, 77 },
					    .head.last = { 4000, 1077 } };
	struct allo_tick_scale scale = allo_recording_scale(&recording);

	(void)state;
	assert_int_equal(allo_ticks_to_ns(scale, 1000), 0);
	assert_in_range(allo_ticks_to_ns(scale, 2500), 499, 500);
	assert_int_equal(allo_ticks_to_ns(scale, 500), 0);
	recording.head.last = recording.head.first;
	scale = allo_recording_scale(&recording);
	assert_int_equal(allo_ticks_to_ns(scale, 2500), 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_describes_the_run),
		cmocka_unit_test(nodes_have_parents_and_modules),
		cmocka_unit_test(a_module_is_found_in_its_generations),
		cmocka_unit_test(callers_of_a_cut_frame_are_unknown),
		cmocka_unit_test(facts_of_later_versions_are_skipped),
		cmocka_unit_test(every_prefix_opens),
		cmocka_unit_test(a_sealed_tail_counts_once),
		cmocka_unit_test(blank_slots_are_skipped),
		cmocka_unit_test(pages_after_a_missing_one_are_skipped),
		cmocka_unit_test(a_fresh_page_needs_no_earlier_page),
		cmocka_unit_test(a_reused_tail_is_skipped),
		cmocka_unit_test(invalid_slots_are_damaged),
		cmocka_unit_test(wrong_node_numbers_take_no_memory),
		cmocka_unit_test(lost_events_are_counted),
		cmocka_unit_test(other_versions_and_machines_are_refused),
		cmocka_unit_test(ticks_become_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
