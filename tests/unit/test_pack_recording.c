/* test_pack_recording.c - a packed recording has the content of the raw one. */
#include "base/defer.h"
#include "check.h"
#include "recordings.h"
#include "replay/live_blocks.h"
#include "replay/packed/pack_recording.h"
#include "replay/summary.h"
#include "scratch.h"
#include "wire/packed.h"

/* An event with names of its blocks. */
struct told {
	uint64_t ns, pointer, old, size;
	uint32_t stack, thread;
	uint64_t kind; /* 64 bits, so that the struct has no padding: it is compared as bytes */
};

typedef ALLO_VEC(struct told) told_events;

static void told_done(told_events *told)
{
	allo_vec_done(told);
}

static struct told tell(const struct allo_recording *recording, const struct allo_event *event)
{
	return (struct told){ event->ns,
			      event->pointer,
			      event->old,
			      event->size,
			      event->stack < recording->nodes.len ? event->stack : 0,
			      recording->streams.at[event->stream].thread,
			      event->kind };
}

/* Maps addresses of a raw recording to names. */
static void name_blocks(struct told *told, const struct allo_live_blocks *blocks,
			const struct allo_outcome *outcome)
{
	uint64_t ended = outcome->flags & ALLO_OUTCOME_ENDED
				 ? allo_block_key(outcome->stack, outcome->number)
				 : 0;

	if (told->kind >= ALLO_EVENT_LABELS)
		return;
	told->old = told->kind == ALLO_EVENT_RESIZE ? ended : 0;
	told->pointer = ended;
	if (outcome->flags & ALLO_OUTCOME_CREATED)
		told->pointer = allo_block_key(told->stack,
					       (uint32_t)blocks->made[outcome->new_stack]);
}

/* Replays all events of a recording one by one. */
static void tell_all(struct allo_recording *recording, told_events *all)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	ALLO_DEFER(allo_live_blocks_done) struct allo_live_blocks blocks = { 0 };
	struct allo_outcomes *outcomes = malloc(sizeof(*outcomes));
	struct allo_event_span span;
	struct allo_error err = { 0 };

	assert_non_null(outcomes);
	assert_true(allo_live_blocks_init(&blocks, recording, &err));
	assert_true(allo_events_open(&events, recording, &err));
	while (allo_events_next(&events, &span, &err)) {
		for (size_t i = 0; i < span.count; i++) {
			struct allo_event_span one = { &span.events[i], 1 };
			struct told told = tell(recording, &span.events[i]);

			assert_true(allo_live_blocks_apply(&blocks, &one, outcomes, &err));
			if (!recording->is_packed)
				name_blocks(&told, &blocks, &outcomes->at[0]);
			if (told.kind != ALLO_EVENT_RETIRE)
				assert_true(allo_vec_append(all, &told, 1));
		}
	}
	assert_false(allo_failed(&err));
	for (size_t i = 0; i < all->len; i++)
		events.count += all->at[i].kind == ALLO_EVENT_LABELS;
	assert_int_equal(events.count, all->len);
	free(outcomes);
}

static void open_and_tell(const char *path, told_events *all, struct allo_gaps *gaps)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	assert_true(allo_recording_open_file(&recording, path, NULL, &err));
	tell_all(&recording, all);
	*gaps = recording.gaps;
}

/* Times are rounded; all else is equal. */
static void are_the_same(const struct told *raw, const struct told *packed)
{
	enum { ROUNDED = 4096 };

	assert_int_equal(raw->pointer, packed->pointer);
	assert_int_equal(raw->old, packed->old);
	assert_int_equal(raw->size, packed->size);
	assert_int_equal(raw->stack, packed->stack);
	assert_int_equal(raw->thread, packed->thread);
	assert_int_equal(raw->kind, packed->kind);
	assert_true(raw->ns <= packed->ns + ROUNDED && packed->ns <= raw->ns + ROUNDED);
}

/* Packs a recording and checks that it has the same content. */
static void pack(struct scratch *scratch, const void *raw, size_t len, struct allo_gaps *gaps)
{
	const char *raw_path = scratch_write(scratch, "raw.allo", raw, len);
	const char *path = scratch_path(scratch, "packed.allo");
	struct allo_summary of_raw, of_packed;
	struct allo_gaps of_raw_gaps;
	ALLO_DEFER(told_done) told_events of_raw_told = { 0 };
	ALLO_DEFER(told_done) told_events told = { 0 };
	struct allo_error err = { 0 };

	assert_true(allo_recording_pack(raw_path, path, NULL, &err));
	open_and_tell(raw_path, &of_raw_told, &of_raw_gaps);
	open_and_tell(path, &told, gaps);
	assert_int_equal(of_raw_told.len, told.len);
	for (size_t i = 0; i < told.len; i++)
		are_the_same(&of_raw_told.at[i], &told.at[i]);
	assert_int_equal(of_raw_gaps.is_cut, gaps->is_cut);
	assert_int_equal(of_raw_gaps.missing_pages, gaps->missing_pages);
	assert_int_equal(of_raw_gaps.damaged_pages, gaps->damaged_pages);
	assert_int_equal(of_raw_gaps.unread_pages, gaps->unread_pages);
	assert_int_equal(of_raw_gaps.dropped_events, gaps->dropped_events);
	assert_true(allo_recording_summary(raw_path, &of_raw, NULL, &err));
	assert_true(allo_recording_summary(path, &of_packed, NULL, &err));
	of_packed.file_bytes = of_raw.file_bytes;
	assert_memory_equal(&of_raw, &of_packed, offsetof(struct allo_summary, end));
	assert_int_equal(of_raw.end, of_packed.end);
	assert_int_equal(of_raw.is_cut, of_packed.is_cut);
	assert_memory_equal(&of_raw.counts, &of_packed.counts, sizeof(of_raw.counts));
}

static void packing_keeps_all_events(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_gaps gaps;

	(void)state;
	scratch_init(&scratch);
	record_server(&recorder);
	pack(&scratch, recorder.file, recorder_size(&recorder), &gaps);
	assert_false(gaps.is_cut);
	assert_false(gaps.has_no_trailer);
}

static void packing_keeps_labels_marks_and_events(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	ALLO_DEFER(told_done) told_events told = { 0 };
	size_t kinds[ALLO_EVENT_OWN + 1] = { 0 };
	struct allo_summary summary;
	struct allo_gaps gaps;
	struct allo_error err = { 0 };

	(void)state;
	scratch_init(&scratch);
	record_notes(&recorder);
	pack(&scratch, recorder.file, recorder_size(&recorder), &gaps);
	open_and_tell(scratch_path(&scratch, "packed.allo"), &told, &gaps);
	for (size_t i = 0; i < told.len; i++)
		kinds[told.at[i].kind]++;
	assert_int_equal(kinds[ALLO_EVENT_LABELS], 6);
	assert_int_equal(kinds[ALLO_EVENT_MARK], 3);
	assert_int_equal(kinds[ALLO_EVENT_OWN], 3);
	assert_true(allo_recording_summary(scratch_path(&scratch, "packed.allo"), &summary, NULL,
					   &err));
	assert_int_equal(summary.marks, 3);
	assert_int_equal(summary.own_events, 3);
	assert_int_equal(summary.own_units, 39);
	assert_int_equal(summary.allocations, 18);
	assert_int_equal(summary.events, 26);
}

static void gaps_survive_packing(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_gaps gaps;

	(void)state;
	scratch_init(&scratch);
	record_killed(&recorder);
	pack(&scratch, recorder.file, recorder_size(&recorder), &gaps);
	assert_int_equal(gaps.missing_pages, 1);
	assert_int_equal(gaps.unread_pages, 1);
	assert_int_equal(gaps.dropped_events, 3);
}

static void cut_recordings_can_be_packed(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_gaps gaps;

	(void)state;
	scratch_init(&scratch);
	record_many(&recorder, 2, 40000);
	for (size_t i = 0; i < 40; i++)
		pack(&scratch, recorder.file, recorder_size(&recorder) * i / 40 + 1000 + 7 * i,
		     &gaps);
}

/* Packs a recording, and returns the size. */
static size_t packed_size(struct scratch *scratch, const struct recorder *recorder)
{
	ALLO_DEFER(allo_free_pointer) char *packed = NULL;
	struct allo_gaps gaps;
	size_t len;

	pack(scratch, recorder->file, recorder_size(recorder), &gaps);
	packed = scratch_read(scratch_path(scratch, "packed.allo"), &len);
	return len;
}

static void packing_shrinks_repetitive_events(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;

	(void)state;
	scratch_init(&scratch);
	record_many(&recorder, 3, 1000000);
	assert_true(recorder_size(&recorder) > 3 << 20);
	assert_true(packed_size(&scratch, &recorder) < recorder_size(&recorder) * 3 / 4);
}

/* Modelled events.  test_packed_format.py checks that a model is used. */
static void packing_keeps_modelled_events(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_gaps gaps;

	(void)state;
	scratch_init(&scratch);
	record_shuffled(&recorder);
	assert_true(packed_size(&scratch, &recorder) < 70301 / 6);
	/* Truncated recordings, too. */
	for (size_t i = 1; i < 5; i++)
		pack(&scratch, recorder.file, recorder_size(&recorder) * i / 5, &gaps);
}

static void every_prefix_of_a_packed_recording_opens(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	ALLO_DEFER(allo_free_pointer) char *packed = NULL;
	struct allo_gaps gaps;
	size_t before = 0;
	size_t len;

	(void)state;
	scratch_init(&scratch);
	record_server(&recorder);
	pack(&scratch, recorder.file, recorder_size(&recorder), &gaps);
	packed = scratch_read(scratch_path(&scratch, "packed.allo"), &len);
	for (size_t cut = sizeof(ALLO_PACKED_MAGIC) - 1; cut < len; cut++) {
		ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
		ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
		ALLO_DEFER(told_done) told_events told = { 0 };
		struct allo_error err = { 0 };

		assert_true(allo_input_open_memory(&in, "cut.allo", packed, cut, &err));
		assert_true(allo_recording_open(&recording, &in, &err));
		assert_true(recording.gaps.is_cut);
		tell_all(&recording, &told);
		assert_true(told.len >= before);
		before = told.len;
	}
	assert_int_equal(before, 50);
}

static void a_changed_byte_is_found_or_harmless(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	ALLO_DEFER(allo_free_pointer) char *packed = NULL;
	ALLO_DEFER(told_done) told_events all = { 0 };
	struct allo_gaps gaps;
	size_t len;

	(void)state;
	scratch_init(&scratch);
	record_server(&recorder);
	pack(&scratch, recorder.file, recorder_size(&recorder), &gaps);
	open_and_tell(scratch_path(&scratch, "packed.allo"), &all, &gaps);
	packed = scratch_read(scratch_path(&scratch, "packed.allo"), &len);
	for (size_t i = sizeof(struct allo_packed_head); i < len; i++) {
		ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
		ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
		ALLO_DEFER(told_done) told_events told = { 0 };
		struct allo_error err = { 0 };

		packed[i] ^= 0x10;
		assert_true(allo_input_open_memory(&in, "changed.allo", packed, len, &err));
		if (allo_recording_open(&recording, &in, &err)) {
			/* The trailer repeats the header of a chunk. */
			tell_all(&recording, &told);
			assert_true(recording.gaps.is_cut || recording.gaps.damaged_pages > 0 ||
				    (told.len == all.len &&
				     memcmp(told.at, all.at, all.len * sizeof(*all.at)) == 0));
			assert_true(recording.head.pid == 4711 || recording.gaps.damaged_pages > 0);
		} else {
			assert_int_equal(err.code, ALLO_FORMAT);
		}
		packed[i] ^= 0x10;
	}
}

static void nothing_is_left_when_packing_fails(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };

	(void)state;
	scratch_init(&scratch);
	assert_false(allo_recording_pack(scratch_write(&scratch, "raw.allo", "nothing", 7),
					 scratch_path(&scratch, "packed.allo"), NULL, &err));
	assert_int_equal(err.code, ALLO_FORMAT);
	assert_int_equal(scratch_count(&scratch), 1);
}

/* Threads whose clocks differ: each gets addresses of the other before they are freed. */
static void packing_keeps_late_frees(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_gaps gaps;
	uint32_t one, two;

	(void)state;
	scratch_init(&scratch);
	record_tables(&recorder);
	one = recorder_thread(&recorder, 1, "one");
	two = recorder_thread(&recorder, 2, "two");
	recorder_escape(&recorder, one, ALLO_ESCAPE_TIMED);
	recorder_escape(&recorder, two, ALLO_ESCAPE_TIMED);
	recorder_alloc(&recorder, one, 2000, 0x50000, 100, NODE_HANDLE);
	recorder_alloc(&recorder, two, 3000, 0x50000, 70, NODE_LOG);
	recorder_free(&recorder, one, 3100, 0x50000);
	recorder_alloc(&recorder, one, 3200, 0x50000, 30, NODE_MAIN);
	recorder_resize(&recorder, two, 3250, 0x50000);
	recorder_alloc(&recorder, two, 3300, 0x60000, 80, NODE_LOG);
	recorder_free(&recorder, one, 3400, 0x50000);
	recorder_free(&recorder, two, 3500, 0x60000);
	recorder_free(&recorder, two, 3600, 0x70000);
	pack(&scratch, recorder.file, recorder_size(&recorder), &gaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packing_keeps_all_events),
		cmocka_unit_test(packing_keeps_labels_marks_and_events),
		cmocka_unit_test(gaps_survive_packing),
		cmocka_unit_test(cut_recordings_can_be_packed),
		cmocka_unit_test(packing_shrinks_repetitive_events),
		cmocka_unit_test(packing_keeps_modelled_events),
		cmocka_unit_test(every_prefix_of_a_packed_recording_opens),
		cmocka_unit_test(a_changed_byte_is_found_or_harmless),
		cmocka_unit_test(nothing_is_left_when_packing_fails),
		cmocka_unit_test(packing_keeps_late_frees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
