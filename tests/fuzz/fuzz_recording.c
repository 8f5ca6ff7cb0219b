/*
 * fuzz_recording.c - short inputs as the blocks of a recording.
 *
 * A raw recording is mostly zeros, which a fuzzer has no patience for: here each block is a byte
 * for its kind, one for its stream, one for its sequence, one for its flags, two for its length,
 * and the bytes.  The fuzzer reads the recording; packing its events into columns must not change
 * them.
 */
#include "base/defer.h"
#include "base/io/zstd_frame.h"
#include "readers/readers.h"
#include "replay/packed/modelled_columns.h"
#include "view/log/change_log.h"
#include "wire/events.h"
#include "wire/layout.h"

#include <stdlib.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BLOCK_HEAD = 6, BLOCKS_MAX = 16 };

/* Lays out the next block in a slot; how much of the input it took. */
static size_t lay_out(const uint8_t *data, size_t size, uint8_t *slot)
{
	size_t len = data[4] | (size_t)data[5] << 8;
	struct allo_wire_slot head = {
		.magic = ALLO_SLOT_MAGIC,
		.kind = data[0] & 3,
		.stream = data[1] & 7,
		.sequence = data[2],
		.is_sealed = data[3] & 1,
		.is_fresh = data[3] >> 1 & 1,
		.from = { data[3] >> 2, data[3] >> 3 },
	};

	if (len > size - BLOCK_HEAD)
		len = size - BLOCK_HEAD;
	if (len > ALLO_SLOT_ROOM)
		len = ALLO_SLOT_ROOM;
	head.used = (uint32_t)len;
	memcpy(slot, &head, sizeof(head));
	memcpy(slot + sizeof(head), data + BLOCK_HEAD, len);
	return BLOCK_HEAD + len;
}

/* The first block, if it has no kind, is also the marks of other processes. */
static void put_marks(uint8_t *file, const uint8_t *data, size_t size)
{
	struct allo_wire_head *head = (struct allo_wire_head *)file;
	uint32_t room = ALLO_SLOT_SIZE - ALLO_MARKS_AT;

	size = size - BLOCK_HEAD < room ? size - BLOCK_HEAD : room;
	head->marks = (struct allo_wire_marks){ ALLO_MARKS_AT, room, (uint32_t)size, 0 };
	head->program.at = sizeof(*head);
	memcpy(file + ALLO_MARKS_AT, data + BLOCK_HEAD, size);
}

/* Columns on their way there and back. */
struct trip {
	struct allo_live_blocks blocks, same; /* the second selects the content */
	struct allo_outcomes outcomes;
	struct allo_event_columns columns;
	uint32_t *threads; /* of streams: the same */
	struct allo_column_state writing, reading;
	uint64_t put, taken; /* sums of all that events say */
};

static void trip_done(struct trip *trip)
{
	allo_live_blocks_done(&trip->blocks);
	allo_live_blocks_done(&trip->same);
	allo_event_columns_done(&trip->columns);
	free(trip->threads);
	allo_column_state_done(&trip->writing);
	allo_column_state_done(&trip->reading);
}

/* Labels, a mark or an event of the program's own. */
static uint64_t sum_note(const struct allo_event *event)
{
	return event->kind + 3 * event->note + 5 * event->size + 7 * (uint64_t)event->stack;
}

static bool put_all(struct trip *trip, struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };
	struct allo_event_span span;

	if (!allo_live_blocks_init(&trip->blocks, recording, err) ||
	    !allo_live_blocks_init(&trip->same, recording, err) ||
	    !allo_column_state_init(&trip->writing, recording->nodes.len, err) ||
	    !allo_column_state_init(&trip->reading, recording->nodes.len, err) ||
	    !allo_events_open(&events, recording, err))
		return false;
	trip->threads = calloc(recording->streams.len + 1, sizeof(*trip->threads));
	if (!trip->threads)
		return false;
	for (size_t i = 0; i < recording->streams.len; i++)
		trip->threads[i] = (uint32_t)i;
	trip->columns.threads = trip->threads;
	while (allo_events_next(&events, &span, err)) {
		if (!allo_live_blocks_apply(&trip->same, &span, &trip->outcomes, err) ||
		    !allo_event_columns_put(&trip->columns, &trip->writing, &trip->blocks, &span,
					    err))
			return false;
		for (size_t i = 0; i < span.count; i++) {
			if (trip->outcomes.at[i].flags & ALLO_OUTCOME_CREATED)
				trip->put += span.events[i].size + trip->outcomes.at[i].new_stack;
			else if (span.events[i].kind >= ALLO_EVENT_LABELS)
				trip->put += sum_note(&span.events[i]);
		}
	}
	return !allo_failed(err);
}

static bool model(struct trip *trip, struct allo_column_modeller *modeller,
		  struct allo_column_reader *reader, const struct allo_recording *recording,
		  struct allo_error *err)
{
	size_t stacks = recording->nodes.len;

	reader->model = allo_event_model_new(stacks);
	return reader->model &&
	       allo_column_modeller_init(modeller, stacks, recording->streams.len + 1, err) &&
	       allo_event_columns_model(&trip->columns, modeller);
}

static void take_all(struct trip *trip, struct allo_column_reader *reader, size_t streams)
{
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
	size_t got;

	while ((got = allo_event_columns_take(reader, &trip->reading, events, ALLO_EVENTS_AT_ONCE,
					      streams)) > 0) {
		for (size_t i = 0; i < got; i++)
			trip->taken += events[i].kind >= ALLO_EVENT_LABELS
					       ? sum_note(&events[i])
					       : events[i].size + events[i].stack;
	}
	if (reader->is_damaged || trip->taken != trip->put)
		abort();
}

/* Whether columns return the events of a recording unchanged. */
static void there_and_back(const uint8_t *file, size_t len, bool is_modelled)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(trip_done) struct trip trip = { 0 };
	ALLO_DEFER(allo_column_modeller_done) struct allo_column_modeller modeller = { 0 };
	struct allo_column_reader reader = { 0 };
	struct allo_error err = { 0 };
	ZSTD_CCtx *packer = ZSTD_createCCtx();
	struct allo_zstd_unpacker *unpacker = allo_zstd_unpacker_new();
	char *packed = NULL;
	uint8_t *bytes = NULL;

	if (allo_input_open_memory(&in, "fuzz", file, len, &err) &&
	    allo_recording_open(&recording, &in, &err) && put_all(&trip, &recording, &err) &&
	    (!is_modelled || model(&trip, &modeller, &reader, &recording, &err))) {
		size_t room = allo_event_columns_bound(&trip.columns), made;
		size_t size = allo_event_columns_size(&trip.columns);

		packed = malloc(room);
		bytes = malloc(size + 1);
		made = allo_event_columns_pack(&trip.columns, packer, packed, room);
		if (made == 0 ||
		    !allo_event_columns_unpack(&reader, unpacker, ALLO_COLUMNS, trip.columns.count,
					       (struct allo_text){ packed, made }, bytes, size))
			abort();
		take_all(&trip, &reader, recording.streams.len + 1);
	}
	allo_event_model_free(reader.model);
	free(packed);
	free(bytes);
	ZSTD_freeCCtx(packer);
	allo_zstd_unpacker_free(unpacker);
}

/* A change log of the recording answers windows. */
static void ask_log(const uint8_t *file, size_t len, bool keeps_first)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_change_log_done)
	struct allo_change_log log = { .keeps_first = keeps_first };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_heap_options whole = { .keeps_first = keeps_first, .wants_births = true };
	struct allo_heap_options part = { .keeps_first = keeps_first };
	struct allo_error err = { 0 };

	if (!allo_input_open_memory(&in, "fuzz", file, len, &err) ||
	    !allo_recording_open(&recording, &in, &err) ||
	    !allo_change_log_build(&log, &recording, NULL, &err))
		return;
	part.window.from_ns = log.last_ns / 3;
	part.window.to_ns = part.window.from_ns + log.last_ns / 2;
	if (!allo_change_log_heap(&log, &whole, &heap, NULL, &err) ||
	    !allo_change_log_heap(&log, &part, &heap, NULL, &err))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_wire_head head = { .version = ALLO_WIRE_VERSION,
				       .byte_order = ALLO_BYTE_ORDER,
				       .slot_size = ALLO_SLOT_SIZE };
	struct allo_read_options options = { .from = "allo", .wants_history = true };
	struct allo_error err = { 0 };
	uint8_t *file = calloc(1 + BLOCKS_MAX, ALLO_SLOT_SIZE);
	size_t slots = 1;

	if (!file)
		return 0;
	memcpy(head.magic, ALLO_HEAD_MAGIC, sizeof(head.magic));
	memcpy(file, &head, sizeof(head));
	if (size > BLOCK_HEAD && (data[0] & 3) == 0)
		put_marks(file, data, size);
	while (size > BLOCK_HEAD && slots <= BLOCKS_MAX) {
		uint8_t *slot = file + slots++ * ALLO_SLOT_SIZE;
		size_t taken = lay_out(data, size, slot);

		data += taken;
		size -= taken;
	}
	if (!allo_read_memory("fuzz", file, slots * ALLO_SLOT_SIZE, &options, &profile, &err) &&
	    !allo_failed(&err))
		abort();
	ask_log(file, slots * ALLO_SLOT_SIZE, false);
	ask_log(file, slots * ALLO_SLOT_SIZE, true);
	there_and_back(file, slots * ALLO_SLOT_SIZE, false);
	there_and_back(file, slots * ALLO_SLOT_SIZE, true);
	free(file);
	return 0;
}
