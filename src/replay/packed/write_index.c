/* write_index.c - writes a recording with an index. */
#include "base/assert.h"
#include "base/defer.h"
#include "replay/packed/chunk_writer.h"
#include "replay/packed/stored_index.h"
#include "replay/packed/stored_names.h"

enum { PART_MOST = 16 << 20 }; /* bytes of a chunk */

static bool write_parts(struct allo_chunk_writer *writer, struct allo_text bytes,
			struct allo_error *err)
{
	for (uint32_t i = 0; bytes.len > 0; i++) {
		struct allo_chunk chunk = { .kind = ALLO_CHUNK_INDEX, .sequence = i, .count = 1 };
		size_t len = bytes.len < PART_MOST ? bytes.len : PART_MOST;

		if (!allo_chunk_write_plain(writer, chunk, bytes.data, len, err))
			return false;
		bytes = allo_text_from(bytes, len);
	}
	return true;
}

static bool write_index(const struct allo_recording *recording, struct allo_chunk_writer *writer,
			uint32_t version, struct allo_text content, struct allo_error *err)
{
	struct allo_packed_index head = { .version = version,
					  .recording = recording->content_hash,
					  .len = content.len };
	allo_index_bytes bytes = { 0 };
	bool ok;

	memcpy(head.magic, ALLO_PACKED_INDEX_MAGIC, sizeof(head.magic));
	ok = (allo_vec_append(&bytes, (const char *)&head, sizeof(head)) &&
	      allo_vec_append(&bytes, content.data, content.len)) ||
	     allo_fail_memory(err);
	ok = ok && write_parts(writer, (struct allo_text){ bytes.at, bytes.len }, err);
	allo_vec_done(&bytes);
	return ok;
}

bool allo_recording_store_index(struct allo_recording *recording, const char *out_path,
				const struct allo_output_options *output, uint32_t version,
				struct allo_text content, struct allo_error *err)
{
	ALLO_DEFER(allo_chunk_writer_done) struct allo_chunk_writer writer = { .out.fd = -1 };

	ALLO_ASSERT(recording->stored_summary);
	if (!allo_output_open(&writer.out, out_path, output, err))
		return false;
	allo_chunk_writer_begin(&writer, recording->packed_version);
	return allo_recording_copy_chunks(recording, ALLO_COPY_NAMES, &writer, err) &&
	       write_index(recording, &writer, version, content, err) &&
	       allo_chunk_writer_finish(&writer, recording->name, recording->stored_summary,
					&recording->stored_gaps, err);
}
