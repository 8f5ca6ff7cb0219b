/*
 * fuzz_packed.c - short inputs as the chunks of a packed recording, with valid checksums.
 *
 * Each chunk is a byte for its kind, one for its stream, one for its sequence, one for its flags,
 * two for its count, two for its length, and the bytes before they are packed.  The bytes of a
 * chunk of events begin with the lengths of its columns.  The first byte of the input decides
 * whether there is a trailer, and whether its index is complete.
 */
#include "base/defer.h"
#include "readers/readers.h"
#include "replay/packed/chunk_writer.h"
#include "replay/packed/event_columns.h"
#include "wire/layout.h"
#include "wire/varint.h"

#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHUNK_HEAD = 8, CHUNKS_MAX = 24, ROOM = 1 << 20 };

struct file {
	uint8_t *at;
	size_t len;
	allo_trailer index;
};

static const uint8_t kinds[] = { ALLO_STREAM_STACKS, ALLO_STREAM_FACTS,
				 ALLO_CHUNK_HEAD,    ALLO_CHUNK_THREADS,
				 ALLO_CHUNK_EVENTS,  ALLO_CHUNK_NAMES,
				 ALLO_CHUNK_TRAILER, 99 };

static void put(struct file *file, const void *bytes, size_t len)
{
	if (len <= ROOM - file->len) {
		memcpy(file->at + file->len, bytes, len);
		file->len += len;
	}
}

static void put_chunk(struct file *file, struct allo_chunk *chunk, const void *packed, size_t len)
{
	size_t at = file->len;

	allo_chunk_seal(chunk, packed, len);
	put(file, chunk, sizeof(*chunk));
	put(file, packed, len);
	allo_trailer_add_chunk(&file->index, at, chunk);
}

/* Packs columns one by one, as event_columns.c does. */
static size_t pack_events(const uint8_t *bytes, size_t len, uint8_t *out, size_t room,
			  uint32_t *raw_len)
{
	uint8_t *end = out, *frames;
	size_t used = 0, at = ALLO_COLUMNS;
	uint8_t kept[1 << 16];

	*raw_len = 0;
	for (size_t c = 0; c < ALLO_COLUMNS; c++) {
		size_t column = c < len ? bytes[c] : 0, made = 0;

		if (at + column > len)
			column = at < len ? len - at : 0;
		if (column > 0)
			made = ZSTD_compress(kept + used, sizeof(kept) - used, bytes + at, column,
					     1);
		if (ZSTD_isError(made))
			made = 0;
		end = allo_varint_put(allo_varint_put(end, column), made);
		used += made;
		at += column;
		*raw_len += (uint32_t)column;
	}
	frames = end;
	if (used > room - (size_t)(frames - out))
		return 0;
	memcpy(frames, kept, used);
	return (size_t)(frames - out) + used;
}

/* Adds a chunk; how much of the input it took. */
static size_t add_chunk(struct file *file, const uint8_t *data, size_t size)
{
	size_t len = data[6] | (size_t)data[7] << 8, made;
	struct allo_chunk chunk = { .kind = kinds[data[0] % sizeof(kinds)],
				    .stream = data[1] & 7,
				    .sequence = data[2],
				    .count = data[4] | (uint32_t)data[5] << 8 };
	uint8_t packed[(1 << 17) + 4096];

	if (len > size - CHUNK_HEAD)
		len = size - CHUNK_HEAD;
	data += CHUNK_HEAD;
	chunk.raw_len = (uint32_t)len;
	made = chunk.kind == ALLO_CHUNK_EVENTS
		       ? pack_events(data, len, packed, sizeof(packed), &chunk.raw_len)
		       : ZSTD_compress(packed, sizeof(packed), data, len, 1);
	if (!ZSTD_isError(made))
		put_chunk(file, &chunk, packed, made);
	return CHUNK_HEAD + len;
}

/* Adds the trailer: a summary of zeros, and the index. */
static void add_trailer(struct file *file, bool names_all)
{
	struct allo_packed_end end = { .trailer = file->len };
	struct allo_chunk chunk = { .kind = ALLO_CHUNK_TRAILER };
	struct allo_summary summary = { 0 };
	struct allo_gaps gaps = { 0 };
	allo_trailer trailer = { 0 };
	size_t bound, made;
	char *packed;

	if (allo_trailer_add_summary(&trailer, &summary, &gaps) &&
	    allo_vec_append(&trailer, file->index.at,
			    names_all ? file->index.len : file->index.len / 2)) {
		bound = ZSTD_compressBound(trailer.len);
		packed = malloc(bound);
		made = packed ? ZSTD_compress(packed, bound, trailer.at, trailer.len, 1) : 0;
		chunk.raw_len = (uint32_t)trailer.len;
		if (packed && !ZSTD_isError(made))
			put_chunk(file, &chunk, packed, made);
		free(packed);
		memcpy(end.magic, ALLO_PACKED_END_MAGIC, sizeof(end.magic));
		put(file, &end, sizeof(end));
	}
	allo_vec_done(&trailer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_packed_head head = { .version = ALLO_PACKED_VERSION,
					 .byte_order = ALLO_BYTE_ORDER };
	struct allo_read_options options = { .from = "allo", .wants_history = true };
	struct file file = { .at = malloc(ROOM) };
	struct allo_error err = { 0 };
	uint8_t flags = size > 0 ? data[0] : 0;

	if (!file.at || size == 0)
		goto done;
	head.version -= flags >> 2 & 1;
	memcpy(head.magic, ALLO_PACKED_MAGIC, sizeof(head.magic));
	put(&file, &head, sizeof(head));
	data++;
	size--;
	for (int i = 0; size > CHUNK_HEAD && i < CHUNKS_MAX; i++) {
		size_t taken = add_chunk(&file, data, size);

		data += taken;
		size -= taken;
	}
	if (flags & 1)
		add_trailer(&file, flags & 2);
	if (!allo_read_memory("fuzz", file.at, file.len, &options, &profile, &err) &&
	    !allo_failed(&err))
		abort();
done:
	allo_vec_done(&file.index);
	free(file.at);
	return 0;
}
