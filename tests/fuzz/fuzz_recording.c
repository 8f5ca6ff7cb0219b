/*
 * fuzz_recording.c - short inputs as the blocks of a recording.
 *
 * A raw recording is mostly zeros, which a fuzzer has no patience for: here each block is a byte
 * for its kind, one for its stream, one for its sequence, one for its flags, two for its length,
 * and the bytes.  What comes of them is read; and blocks of events that can be taken apart must be
 * the same when they are put together.
 */
#include "base/defer.h"
#include "readers/readers.h"
#include "replay/event_columns.h"
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

static void split_and_join(const uint8_t *slot, bool is_timed)
{
	ALLO_DEFER(allo_columns_done) struct allo_columns columns = { 0 };
	size_t len = sizeof(struct allo_wire_slot) + ((const struct allo_wire_slot *)slot)->used;
	struct allo_error err = { 0 };
	ZSTD_CCtx *packer = ZSTD_createCCtx();
	ZSTD_DCtx *unpacker = ZSTD_createDCtx();
	uint8_t *joined = malloc(len + ALLO_EVENT_MAX);
	char *packed = NULL;
	bool is_odd;

	if (allo_columns_split(&columns, (struct allo_text){ (const char *)slot, len }, &is_timed,
			       &is_odd, &err)) {
		size_t room = allo_columns_bound(&columns), made;

		packed = malloc(room);
		made = allo_columns_pack(&columns, packer, 1, packed, room);
		if (made == 0 ||
		    !allo_columns_join(unpacker, (struct allo_text){ packed, made }, joined, len,
				       &err) ||
		    memcmp(joined, slot, len) != 0)
			abort();
	}
	free(packed);
	free(joined);
	ZSTD_freeCCtx(packer);
	ZSTD_freeDCtx(unpacker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_wire_head head = { .version = ALLO_WIRE_VERSION,
				       .byte_order = ALLO_BYTE_ORDER,
				       .slot_size = ALLO_SLOT_SIZE };
	struct allo_read_options options = { .from = "allo" };
	struct allo_error err = { 0 };
	uint8_t *file = calloc(1 + BLOCKS_MAX, ALLO_SLOT_SIZE);
	size_t slots = 1;

	if (!file)
		return 0;
	memcpy(head.magic, ALLO_HEAD_MAGIC, sizeof(head.magic));
	memcpy(file, &head, sizeof(head));
	while (size > BLOCK_HEAD && slots <= BLOCKS_MAX) {
		uint8_t *slot = file + slots++ * ALLO_SLOT_SIZE;
		size_t taken = lay_out(data, size, slot);

		split_and_join(slot, data[3] & 4);
		data += taken;
		size -= taken;
	}
	if (!allo_read_memory("fuzz", file, slots * ALLO_SLOT_SIZE, &options, &profile, &err) &&
	    !allo_failed(&err))
		abort();
	free(file);
	return 0;
}
