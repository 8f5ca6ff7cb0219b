#include "replay/packed/chunk_writer.h"

#include "base/assert.h"
#include "base/defer.h"

#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

enum { LEVEL = 3 }; /* of zstd for tables: higher levels are slower and gain almost nothing */

void allo_chunk_writer_done(struct allo_chunk_writer *writer)
{
	allo_vec_done(&writer->index);
	allo_output_drop(&writer->out);
}

static uint64_t offset_of(const struct allo_chunk_writer *writer)
{
	return writer->out.written + writer->out.used;
}

void allo_chunk_writer_begin(struct allo_chunk_writer *writer, uint32_t version)
{
	struct allo_packed_head head = { .version = version, .byte_order = ALLO_BYTE_ORDER };

	memcpy(head.magic, ALLO_PACKED_MAGIC, sizeof(head.magic));
	allo_output_bytes(&writer->out, &head, sizeof(head));
}

void allo_chunk_seal(struct allo_chunk *chunk, const void *packed, size_t len)
{
	chunk->magic = ALLO_CHUNK_MAGIC;
	chunk->packed_len = (uint32_t)len;
	chunk->hash = XXH64(packed, len, 0);
	chunk->head_hash = XXH64(chunk, offsetof(struct allo_chunk, head_hash), 0);
}

bool allo_chunk_write(struct allo_chunk_writer *writer, const struct allo_chunk *chunk,
		      const void *packed, struct allo_error *err)
{
	ALLO_ASSERT(chunk->magic == ALLO_CHUNK_MAGIC);
	if (!allo_trailer_add_chunk(&writer->index, offset_of(writer), chunk))
		return allo_fail_memory(err);
	allo_output_bytes(&writer->out, chunk, sizeof(*chunk));
	allo_output_bytes(&writer->out, packed, chunk->packed_len);
	return true;
}

bool allo_chunk_write_plain(struct allo_chunk_writer *writer, struct allo_chunk chunk,
			    const void *bytes, size_t len, struct allo_error *err)
{
	size_t bound = ZSTD_compressBound(len), made;
	ALLO_DEFER(allo_free_pointer) char *packed = malloc(bound);

	if (!packed)
		return allo_fail_memory(err);
	made = ZSTD_compress(packed, bound, bytes, len, LEVEL);
	if (ZSTD_isError(made))
		return allo_fail_memory(err);
	ALLO_ASSERT(len <= ALLO_CHUNK_RAW_MAX);
	chunk.raw_len = (uint32_t)len;
	allo_chunk_seal(&chunk, packed, made);
	return allo_chunk_write(writer, &chunk, packed, err);
}

bool allo_chunk_writer_finish(struct allo_chunk_writer *writer, const char *name,
			      const struct allo_summary *summary, const struct allo_gaps *gaps,
			      struct allo_error *err)
{
	struct allo_packed_end end = { .trailer = offset_of(writer) };
	allo_trailer trailer = { 0 };
	bool ok;

	memcpy(end.magic, ALLO_PACKED_END_MAGIC, sizeof(end.magic));
	ok = allo_trailer_add_summary(&trailer, summary, gaps) &&
	     allo_vec_append(&trailer, writer->index.at, writer->index.len);
	if (!ok)
		allo_fail_memory(err);
	else if (trailer.len > ALLO_CHUNK_RAW_MAX)
		ok = allo_fail(err, ALLO_LIMIT, (struct allo_pos){ .file = name },
			       "is too large to be packed");
	else
		ok = allo_chunk_write_plain(writer,
					    (struct allo_chunk){ .kind = ALLO_CHUNK_TRAILER },
					    trailer.at, trailer.len, err);
	allo_vec_done(&trailer);
	allo_output_bytes(&writer->out, &end, sizeof(end));
	return ok && allo_output_finish(&writer->out, err);
}
