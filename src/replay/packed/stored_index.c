#include "replay/packed/stored_index.h"

#include "base/defer.h"
#include "replay/packed/packed_file.h"
#include "wire/packed.h"

uint64_t allo_stored_index_size(const struct allo_recording *recording)
{
	uint64_t size = 0;

	for (size_t i = 0; i < recording->index_chunks.len; i++)
		size += recording->index_chunks.at[i].packed_len;
	return size;
}

static uint64_t unpacked_size(const struct allo_recording *recording)
{
	uint64_t size = 0;

	for (size_t i = 0; i < recording->index_chunks.len; i++)
		size += recording->index_chunks.at[i].raw_len;
	return size;
}

/* Appends all parts, the head included. */
static bool load_parts(struct allo_recording *recording, allo_index_bytes *all,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_piece_bytes_done) struct allo_piece_bytes bytes = { 0 };

	for (size_t i = 0; i < recording->index_chunks.len; i++) {
		if (!allo_packed_load_plain(recording, &recording->index_chunks.at[i],
					    ALLO_CHUNK_INDEX, &bytes, err))
			return false;
		if (!allo_vec_append(all, (const char *)bytes.bytes.at, bytes.bytes.len))
			return allo_fail_memory(err);
	}
	return true;
}

/* Takes the head off; false if the rest is not the index of this recording. */
static bool take_head(const struct allo_recording *recording, uint32_t version,
		      allo_index_bytes *all)
{
	struct allo_packed_index head;

	if (all->len < sizeof(head))
		return false;
	memcpy(&head, all->at, sizeof(head));
	all->len -= sizeof(head);
	memmove(all->at, all->at + sizeof(head), all->len);
	return memcmp(head.magic, ALLO_PACKED_INDEX_MAGIC, sizeof(head.magic)) == 0 &&
	       head.version == version && head.recording == recording->content_hash &&
	       head.len == all->len;
}

bool allo_stored_index_load(struct allo_recording *recording, uint32_t version,
			    allo_index_bytes *content, struct allo_error *err)
{
	content->len = 0;
	return allo_recording_has_index(recording) &&
	       unpacked_size(recording) <= allo_packed_tables_most(recording) &&
	       load_parts(recording, content, err) && take_head(recording, version, content);
}
