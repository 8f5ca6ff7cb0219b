/* test_pack_recording.c - a packed recording is the raw one, only smaller. */
#include "base/defer.h"
#include "base/hash.h"
#include "check.h"
#include "recordings.h"
#include "replay/event_columns.h"
#include "replay/event_stream.h"
#include "replay/pack_recording.h"
#include "replay/summary.h"
#include "scratch.h"
#include "wire/packed.h"

#include <zstd.h>

/* Everything that a recording holds, as one hash. */
static uint64_t hash_of(struct allo_recording *recording, uint64_t *count)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	struct allo_event_span span;
	struct allo_error err = { 0 };
	uint64_t hash = 1;

	for (size_t i = 1; i < recording->nodes.len; i++)
		hash = allo_hash_pair(hash + recording->nodes.at[i].parent,
				      recording->nodes.at[i].pc, recording->nodes.at[i].flags);
	assert_true(allo_events_open(&events, recording, &err));
	while (allo_events_next(&events, &span, &err)) {
		for (size_t i = 0; i < span.count; i++) {
			const struct allo_event *event = &span.events[i];

			hash = allo_hash_pair(hash ^ event->ns, event->pointer + event->kind, 1);
			hash = allo_hash_pair(hash ^ event->old, event->size, event->stack);
			hash += span.stream;
		}
	}
	assert_false(allo_failed(&err));
	*count = events.count;
	return hash;
}

static uint64_t hash_of_file(const char *path, uint64_t *count, struct allo_lacks *lacks)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };
	uint64_t hash;

	assert_true(allo_recording_open_file(&recording, path, NULL, &err));
	hash = hash_of(&recording, count);
	*lacks = recording.lacks;
	return hash;
}

/* Packs a recording; it must hold the same afterwards. */
static void pack(struct scratch *scratch, const void *raw, size_t len, struct allo_lacks *lacks)
{
	const char *raw_path = scratch_write(scratch, "raw.allo", raw, len);
	const char *path = scratch_path(scratch, "packed.allo");
	struct allo_summary of_raw, of_packed;
	struct allo_lacks of_raw_lacks;
	struct allo_error err = { 0 };
	uint64_t raw_count, count;

	assert_true(allo_recording_pack(raw_path, path, NULL, &err));
	assert_int_equal(hash_of_file(raw_path, &raw_count, &of_raw_lacks),
			 hash_of_file(path, &count, lacks));
	assert_int_equal(raw_count, count);
	assert_int_equal(of_raw_lacks.is_cut, lacks->is_cut);
	assert_int_equal(of_raw_lacks.missing_blocks, lacks->missing_blocks);
	assert_int_equal(of_raw_lacks.damaged_blocks, lacks->damaged_blocks);
	assert_int_equal(of_raw_lacks.unread_blocks, lacks->unread_blocks);
	assert_int_equal(of_raw_lacks.dropped_events, lacks->dropped_events);
	assert_true(allo_recording_summary(raw_path, &of_raw, NULL, &err));
	assert_true(allo_recording_summary(path, &of_packed, NULL, &err));
	of_packed.file_bytes = of_raw.file_bytes;
	assert_memory_equal(&of_raw, &of_packed, offsetof(struct allo_summary, end));
	assert_int_equal(of_raw.end, of_packed.end);
	assert_int_equal(of_raw.is_cut, of_packed.is_cut);
	assert_memory_equal(&of_raw.counts, &of_packed.counts, sizeof(of_raw.counts));
}

static void all_that_was_recorded_is_kept(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_lacks lacks;

	(void)state;
	scratch_init(&scratch);
	record_server(&recorder);
	pack(&scratch, recorder.file, recorder_size(&recorder), &lacks);
	assert_false(lacks.is_cut);
	assert_false(lacks.has_no_trailer);
}

static void what_lacks_lacks_in_the_packed_one(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_lacks lacks;

	(void)state;
	scratch_init(&scratch);
	record_killed(&recorder);
	pack(&scratch, recorder.file, recorder_size(&recorder), &lacks);
	assert_int_equal(lacks.missing_blocks, 1);
	assert_int_equal(lacks.unread_blocks, 1);
	assert_int_equal(lacks.dropped_events, 3);
}

static void cut_recordings_can_be_packed(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_lacks lacks;

	(void)state;
	scratch_init(&scratch);
	record_many(&recorder, 2, 40000);
	for (size_t i = 0; i < 40; i++)
		pack(&scratch, recorder.file, recorder_size(&recorder) * i / 40 + 1000 + 7 * i,
		     &lacks);
}

static void many_blocks_become_few_bytes(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	ALLO_DEFER(allo_free_pointer) char *packed = NULL;
	struct allo_lacks lacks;
	size_t len;

	(void)state;
	scratch_init(&scratch);
	record_many(&recorder, 3, 1000000);
	pack(&scratch, recorder.file, recorder_size(&recorder), &lacks);
	packed = scratch_read(scratch_path(&scratch, "packed.allo"), &len);
	assert_true(recorder_size(&recorder) > 3 << 20);
	assert_true(len < recorder_size(&recorder) * 3 / 4);
}

static void any_part_of_a_packed_one_opens(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	ALLO_DEFER(allo_free_pointer) char *packed = NULL;
	struct allo_lacks lacks;
	uint64_t before = 0;
	size_t len;

	(void)state;
	scratch_init(&scratch);
	record_server(&recorder);
	pack(&scratch, recorder.file, recorder_size(&recorder), &lacks);
	packed = scratch_read(scratch_path(&scratch, "packed.allo"), &len);
	for (size_t cut = sizeof(ALLO_PACKED_MAGIC) - 1; cut < len; cut++) {
		ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
		ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
		struct allo_error err = { 0 };
		uint64_t count;

		assert_true(allo_input_open_memory(&in, "cut.allo", packed, cut, &err));
		assert_true(allo_recording_open(&recording, &in, &err));
		assert_true(recording.lacks.is_cut);
		hash_of(&recording, &count);
		assert_true(count >= before);
		before = count;
	}
	assert_int_equal(before, 50);
}

static void a_byte_that_changed_is_noticed_or_makes_no_difference(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	ALLO_DEFER(allo_free_pointer) char *packed = NULL;
	struct allo_lacks lacks;
	uint64_t hash, count;
	size_t len;

	(void)state;
	scratch_init(&scratch);
	record_server(&recorder);
	pack(&scratch, recorder.file, recorder_size(&recorder), &lacks);
	hash = hash_of_file(scratch_path(&scratch, "packed.allo"), &count, &lacks);
	packed = scratch_read(scratch_path(&scratch, "packed.allo"), &len);
	for (size_t i = sizeof(struct allo_packed_head); i < len; i++) {
		ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
		ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
		struct allo_error err = { 0 };

		packed[i] ^= 0x10;
		assert_true(allo_input_open_memory(&in, "changed.allo", packed, len, &err));
		if (allo_recording_open(&recording, &in, &err)) {
			/* The head of a chunk stands in the trailer once more. */
			assert_true(hash_of(&recording, &count) == hash || recording.lacks.is_cut ||
				    recording.lacks.damaged_blocks > 0);
			assert_true(recording.head.pid == 4711 ||
				    recording.lacks.damaged_blocks > 0);
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

/* Columns. */

/* Takes a block with these bytes apart and puts it together. */
static bool survives(const uint8_t *bytes, size_t len, bool is_timed)
{
	uint8_t block[sizeof(struct allo_wire_slot) + 100] = { 0 };
	uint8_t packed[4096], joined[sizeof(block) + ALLO_EVENT_MAX];
	struct allo_wire_slot slot = { .sequence = 1, .used = (uint32_t)len };
	ALLO_DEFER(allo_columns_done) struct allo_columns columns = { 0 };
	struct allo_error err = { 0 };
	size_t packed_len, size = sizeof(slot) + len;
	ZSTD_CCtx *pack_context;
	ZSTD_DCtx *unpack_context;
	bool is_odd;

	memcpy(block, &slot, sizeof(slot));
	memcpy(block + sizeof(slot), bytes, len);
	if (!allo_columns_split(&columns, (struct allo_text){ (const char *)block, size },
				&is_timed, &is_odd, &err)) {
		assert_true(is_odd);
		return false;
	}
	pack_context = ZSTD_createCCtx();
	unpack_context = ZSTD_createDCtx();
	assert_true(allo_columns_bound(&columns) <= sizeof(packed));
	packed_len = allo_columns_pack(&columns, pack_context, 1, packed, sizeof(packed));
	assert_true(packed_len > 0);
	assert_true(allo_columns_join(unpack_context,
				      (struct allo_text){ (const char *)packed, packed_len },
				      joined, size, &err));
	assert_memory_equal(joined, block, size);
	ZSTD_freeCCtx(pack_context);
	ZSTD_freeDCtx(unpack_context);
	return true;
}

static void events_of_every_form_are_put_together_again(void **state)
{
	static const uint8_t wide[] = { 0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03 };
	static const uint8_t escapes[] = { 0, 18, 0, 5, 9, 0, 0x89, 2, 0, 4, 0, 7, 2, 0, 2, 2, 7 };

	(void)state;
	assert_true(survives((const uint8_t[]){ 2, 126, 15, 9, 1, 1 }, 6, false));
	assert_true(survives((const uint8_t[]){ 2, 7, 13, 5, 1 }, 5, true));
	assert_true(survives(wide, sizeof(wide), false));
	assert_true(survives(escapes, sizeof(escapes), false));
}

static void what_cannot_be_put_together_is_odd(void **state)
{
	(void)state;
	assert_false(survives((const uint8_t[]){ 0x82, 0x00 }, 2, false));       /* more: nothing */
	assert_false(survives((const uint8_t[]){ 0x82, 0x81, 0x00 }, 3, false)); /* too long */
	assert_false(survives((const uint8_t[]){ 9, 1 }, 2, false));             /* no size */
	assert_false(survives((const uint8_t[]){ 2 }, 1, true));                 /* no time */
	assert_false(survives((const uint8_t[]){ 0, 3 }, 2, false));             /* no escape */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_was_recorded_is_kept),
		cmocka_unit_test(what_lacks_lacks_in_the_packed_one),
		cmocka_unit_test(cut_recordings_can_be_packed),
		cmocka_unit_test(many_blocks_become_few_bytes),
		cmocka_unit_test(any_part_of_a_packed_one_opens),
		cmocka_unit_test(a_byte_that_changed_is_noticed_or_makes_no_difference),
		cmocka_unit_test(nothing_is_left_when_packing_fails),
		cmocka_unit_test(events_of_every_form_are_put_together_again),
		cmocka_unit_test(what_cannot_be_put_together_is_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
