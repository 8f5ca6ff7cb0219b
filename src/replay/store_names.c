/* store_names.c - writing what stored_names.h has to store. */
#include "base/defer.h"
#include "replay/packed/chunk_writer.h"
#include "replay/packed/pack_recording.h"
#include "replay/packed/packed_file.h"
#include "replay/stored_names.h"

#include <xxhash.h>

bool allo_name_tables_write(const struct allo_name_tables *tables, struct allo_chunk_writer *writer,
			    struct allo_error *err)
{
	const char *at = tables->bytes.at;

	for (size_t i = 0; i < tables->tables.len; i++) {
		const struct allo_name_table_size *size = &tables->tables.at[i];
		struct allo_chunk chunk = { .kind = ALLO_CHUNK_NAMES,
					    .sequence = (uint32_t)i,
					    .count = size->rows };

		/* A single name may be of any length; readers unpack no more than this. */
		if (size->len <= ALLO_CHUNK_RAW_MAX &&
		    !allo_chunk_write_plain(writer, chunk, at, size->len, err))
			return false;
		at += size->len;
	}
	return true;
}

static bool fail_damaged(const struct allo_recording *recording, uint64_t offset,
			 struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT,
		  (struct allo_pos){ .file = recording->name, .byte = offset + 1 },
		  "is damaged or cut: names are stored in whole recordings only");
	return allo_hint(err, "'allo verify' says what lacks");
}

static bool copy_chunk(struct allo_recording *recording, uint64_t offset,
		       const struct allo_chunk *chunk, struct allo_piece_bytes *bytes,
		       struct allo_chunk_writer *writer, struct allo_error *err)
{
	size_t got;

	bytes->packed.len = 0;
	if (!allo_vec_reserve(&bytes->packed, (size_t)chunk->packed_len + 1))
		return allo_fail_memory(err);
	if (!allo_random_access_read(&recording->source, offset + sizeof(*chunk), bytes->packed.at,
				     chunk->packed_len, &got, err))
		return false;
	if (got < chunk->packed_len || XXH64(bytes->packed.at, got, 0) != chunk->hash)
		return fail_damaged(recording, offset, err);
	return allo_chunk_write(writer, chunk, bytes->packed.at, err);
}

/* All chunks but the names that there are, and the trailer; also those of kinds that we do not
 * know. */
static bool copy_chunks(struct allo_recording *recording, struct allo_chunk_writer *writer,
			struct allo_error *err)
{
	ALLO_DEFER(allo_piece_bytes_done) struct allo_piece_bytes bytes = { 0 };
	uint64_t at = sizeof(struct allo_packed_head);
	struct allo_chunk chunk;

	for (;;) {
		if (!allo_packed_read_chunk(recording, at, &chunk, err))
			return allo_failed(err) ? false : fail_damaged(recording, at, err);
		if (chunk.kind == ALLO_CHUNK_TRAILER)
			return true;
		if (chunk.kind != ALLO_CHUNK_NAMES &&
		    !copy_chunk(recording, at, &chunk, &bytes, writer, err))
			return false;
		at += sizeof(chunk) + chunk.packed_len;
		allo_recording_tell_progress(recording, sizeof(chunk) + chunk.packed_len);
	}
}

static bool copy_named(struct allo_recording *recording, const char *out_path,
		       const struct allo_output_options *output,
		       const struct allo_name_tables *tables, struct allo_error *err)
{
	ALLO_DEFER(allo_chunk_writer_done) struct allo_chunk_writer writer = { .out.fd = -1 };

	if (!recording->stored_summary)
		return fail_damaged(recording, recording->size, err);
	if (!allo_output_open(&writer.out, out_path, output, err))
		return false;
	allo_chunk_writer_begin(&writer, recording->packed_version);
	return copy_chunks(recording, &writer, err) &&
	       allo_name_tables_write(tables, &writer, err) &&
	       allo_chunk_writer_finish(&writer, recording->name, recording->stored_summary,
					&recording->stored_lacks, err);
}

bool allo_recording_store_names(const char *path, const char *out_path,
				const struct allo_output_options *output,
				const struct allo_name_tables *tables,
				const struct allo_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };

	if (!allo_recording_open_file(&recording, path, progress, err))
		return false;
	if (recording.is_packed)
		return copy_named(&recording, out_path, output, tables, err);
	return allo_recording_pack_named(path, out_path, output, tables, progress, err);
}
