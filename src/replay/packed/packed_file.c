/* packed_file.c - reads the chunks of a packed recording: head, tables, trailer, events. */
#include "replay/packed/packed_file.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/io/zstd_frame.h"
#include "base/trust.h"
#include "replay/packed/event_columns.h"
#include "replay/packed/packed_trailer.h"
#include "replay/recording/recording_internal.h"
#include "replay/ring/earlier.h"
#include "wire/packed.h"

#include <stdlib.h>
#include <xxhash.h>

bool allo_is_packed(struct allo_text head)
{
	return allo_text_starts(head, ALLO_TEXT(ALLO_PACKED_MAGIC));
}

void allo_packed_close(struct allo_recording *recording)
{
	free(recording->stored_summary);
	allo_zstd_unpacker_free(recording->unpacker);
}

/* Chunks. */

bool allo_packed_read_chunk(const struct allo_recording *recording, uint64_t offset,
			    struct allo_chunk *chunk, struct allo_error *err)
{
	size_t got;

	return allo_random_access_read(&recording->source, offset, chunk, sizeof(*chunk), &got,
				       err) &&
	       got == sizeof(*chunk) && chunk->magic == ALLO_CHUNK_MAGIC &&
	       chunk->raw_len <= ALLO_CHUNK_RAW_MAX &&
	       XXH64(chunk, offsetof(struct allo_chunk, head_hash), 0) == chunk->head_hash &&
	       chunk->packed_len <= recording->size - offset - sizeof(*chunk);
}

/* Reads the packed bytes of a chunk into bytes->packed.  True if they are intact. */
static bool read_packed(struct allo_recording *recording, uint64_t offset,
			const struct allo_chunk *chunk, struct allo_piece_bytes *bytes,
			struct allo_error *err)
{
	size_t got;

	bytes->packed.len = 0;
	if (!recording->unpacker)
		recording->unpacker = allo_zstd_unpacker_new();
	if (!recording->unpacker ||
	    !allo_vec_reserve(&bytes->packed, (size_t)chunk->packed_len + 1))
		return allo_fail_memory(err);
	if (!allo_random_access_read(&recording->source, offset + sizeof(*chunk), bytes->packed.at,
				     chunk->packed_len, &got, err))
		return false;
	bytes->packed.len = got;
	return got == chunk->packed_len && XXH64(bytes->packed.at, got, 0) == chunk->hash;
}

/* Unpacks a chunk into bytes->bytes, which has room for chunk->raw_len.  True if it is intact. */
static bool unpack_chunk(struct allo_recording *recording, uint64_t offset,
			 const struct allo_chunk *chunk, struct allo_piece_bytes *bytes,
			 struct allo_error *err)
{
	if (!read_packed(recording, offset, chunk, bytes, err))
		return false;
	ALLO_ASSERT(bytes->bytes.cap >= chunk->raw_len);
	bytes->bytes.len = chunk->raw_len;
	return allo_zstd_unpack_frame(
		recording->unpacker,
		(struct allo_text){ (const char *)bytes->packed.at, bytes->packed.len },
		bytes->bytes.at, chunk->raw_len);
}

/* Whether a chunk holds exactly the pages of its piece. */
static bool has_pages(const struct allo_piece *piece, struct allo_piece_bytes *bytes)
{
	struct allo_wire_slot slot;
	const uint8_t *at, *end;
	uint32_t count = 0;

	while (allo_piece_next(bytes, &slot, &at, &end)) {
		if (slot.magic != ALLO_SLOT_MAGIC || slot.kind != piece->kind ||
		    slot.stream != piece->stream || slot.sequence != piece->sequence + count ||
		    slot.used > ALLO_SLOT_ROOM)
			return false;
		count++;
	}
	return count == piece->pages && bytes->next == bytes->bytes.len;
}

bool allo_packed_load(struct allo_recording *recording, const struct allo_piece *piece,
		      struct allo_piece_bytes *bytes, struct allo_error *err)
{
	struct allo_chunk chunk;
	bool ok = allo_packed_read_chunk(recording, piece->offset, &chunk, err) &&
		  chunk.raw_len == piece->raw_len && chunk.kind == piece->kind &&
		  unpack_chunk(recording, piece->offset, &chunk, bytes, err) &&
		  has_pages(piece, bytes);

	bytes->next = 0;
	if (!ok) {
		bytes->bytes.len = 0;
		allo_recording_damage(recording, piece->offset, piece->pages);
	}
	return !allo_failed(err);
}

bool allo_packed_load_plain(struct allo_recording *recording, const struct allo_plain_chunk *chunk,
			    uint32_t kind, struct allo_piece_bytes *bytes, struct allo_error *err)
{
	struct allo_chunk head;

	bytes->bytes.len = 0;
	if (!allo_vec_reserve(&bytes->bytes, (size_t)chunk->raw_len + 1))
		return allo_fail_memory(err);
	return allo_packed_read_chunk(recording, chunk->offset, &head, err) &&
	       head.raw_len == chunk->raw_len && head.kind == kind &&
	       unpack_chunk(recording, chunk->offset, &head, bytes, err);
}

/* Opening. */

/* Limits against hostile files: zstd packs 60 MB of repetition to some kilobytes.  Real tables
 * shrink to a third or a tenth.  Programs that repeat themselves have thousands of events per byte.
 */
static const uint64_t tables_ratio = 100, tables_least = 16 << 20;   /* bytes */
static const uint64_t events_ratio = 4096, events_least = 256 << 20; /* events */

uint64_t allo_packed_tables_most(const struct allo_recording *recording)
{
	return allo_trust_limit(recording->source.stored, tables_ratio, tables_least);
}

static bool fail_chunk(const struct allo_recording *recording, uint64_t offset, uint64_t most,
		       const char *what, struct allo_error *err)
{
	return allo_fail_limit(
		err, (struct allo_pos){ .file = recording->name, .byte = offset + 1 },
		"holds more than %llu %s in a file of %llu bytes", (unsigned long long)most, what,
		(unsigned long long)recording->source.stored);
}

/* Whether take_chunk() uses a chunk.  The trailer counts when it is loaded. */
static bool is_unpacked(const struct allo_chunk *chunk)
{
	return chunk->kind == ALLO_STREAM_STACKS || chunk->kind == ALLO_STREAM_FACTS ||
	       chunk->kind == ALLO_CHUNK_SUMS ||
	       (chunk->kind >= ALLO_CHUNK_HEAD && chunk->kind <= ALLO_CHUNK_NAMES &&
		chunk->kind != ALLO_CHUNK_TRAILER);
}

/* Counts a chunk that will be unpacked. */
static bool count_chunk(struct allo_recording *recording, uint64_t offset,
			const struct allo_chunk *chunk, struct allo_error *err)
{
	uint64_t stored = recording->source.stored, most;

	if (chunk->kind == ALLO_CHUNK_EVENTS) {
		most = allo_trust_limit(stored, events_ratio, events_least);
		recording->chunk_events += chunk->count;
		return recording->chunk_events <= most ||
		       fail_chunk(recording, offset, most, "events", err);
	}
	most = allo_packed_tables_most(recording);
	recording->chunk_table_bytes += chunk->raw_len;
	return recording->chunk_table_bytes <= most ||
	       fail_chunk(recording, offset, most, "bytes of tables", err);
}

static bool add_piece(struct allo_recording *recording, uint64_t offset,
		      const struct allo_chunk *chunk, struct allo_error *err)
{
	struct allo_piece piece = {
		.offset = offset,
		.stream = chunk->stream,
		.sequence = chunk->sequence,
		.pages = chunk->count,
		.file_len = (uint32_t)sizeof(*chunk) + chunk->packed_len,
		.raw_len = chunk->raw_len,
		.kind = (uint8_t)chunk->kind,
		.is_sealed = true,
	};

	/* Too large a count would make later pages look like older copies. */
	if (chunk->stream == 0 || chunk->count == 0 ||
	    chunk->count > chunk->raw_len / sizeof(struct allo_wire_slot)) {
		allo_recording_damage(recording, offset, 1);
		return true;
	}
	return allo_vec_append(&recording->pieces, &piece, 1) || allo_fail_memory(err);
}

static bool add_events(struct allo_recording *recording, uint64_t offset,
		       const struct allo_chunk *chunk, struct allo_error *err)
{
	struct allo_event_chunk events = {
		.offset = offset,
		.sequence = chunk->sequence,
		.count = chunk->count,
		.raw_len = chunk->raw_len,
		.file_len = (uint32_t)sizeof(*chunk) + chunk->packed_len,
	};

	return allo_vec_append(&recording->event_chunks, &events, 1) || allo_fail_memory(err);
}

static bool add_plain(struct allo_recording *recording, uint64_t offset,
		      const struct allo_chunk *chunk, struct allo_error *err)
{
	struct allo_plain_chunk plain = { offset, chunk->raw_len, chunk->packed_len };

	return (chunk->kind == ALLO_CHUNK_NAMES
			? allo_vec_append(&recording->name_chunks, &plain, 1)
		: chunk->kind == ALLO_CHUNK_SUMS
			? allo_vec_append(&recording->sum_chunks, &plain, 1)
			: allo_vec_append(&recording->index_chunks, &plain, 1)) ||
	       allo_fail_memory(err);
}

/* Names and indexes come and go; the content stays. */
static void hash_content(struct allo_recording *recording, const struct allo_chunk *chunk)
{
	if (is_unpacked(chunk) && chunk->kind != ALLO_CHUNK_NAMES)
		recording->content_hash = XXH64(&chunk->hash, sizeof(chunk->hash),
						recording->content_hash);
}

static bool add_threads(struct allo_recording *recording, struct allo_text bytes,
			struct allo_error *err)
{
	struct allo_packed_thread thread;

	for (; bytes.len >= sizeof(thread); bytes = allo_text_from(bytes, sizeof(thread))) {
		struct allo_stream *stream = allo_vec_push(&recording->streams);
		char *name = allo_arena_copy(&recording->arena,
					     bytes.data + offsetof(struct allo_packed_thread, name),
					     sizeof(thread.name));

		if (!stream || !name)
			return allo_fail_memory(err);
		memcpy(&thread, bytes.data, sizeof(thread));
		*stream = (struct allo_stream){ .number = thread.stream,
						.thread = thread.thread,
						.kind = ALLO_STREAM_EVENTS,
						.dropped = thread.dropped,
						.name = { name,
							  strnlen(name, sizeof(thread.name)) } };
	}
	return true;
}

/* Reads a chunk with the head or threads.  A recording has one of each. */
static bool take_plain(struct allo_recording *recording, uint64_t offset,
		       const struct allo_chunk *chunk, struct allo_error *err)
{
	ALLO_DEFER(allo_piece_bytes_done) struct allo_piece_bytes bytes = { 0 };
	bool is_head = chunk->kind == ALLO_CHUNK_HEAD;
	bool is_valid = is_head ? recording->head_bytes.len == 0 && chunk->raw_len <= ALLO_SLOT_SIZE
				: recording->streams.len == 0;
	struct allo_text text;

	if (!allo_vec_reserve(&bytes.bytes, (size_t)chunk->raw_len + 1))
		return allo_fail_memory(err);
	if (!is_valid || !unpack_chunk(recording, offset, chunk, &bytes, err)) {
		allo_recording_damage(recording, offset, 1);
		return !allo_failed(err);
	}
	text = (struct allo_text){ (const char *)bytes.bytes.at, bytes.bytes.len };
	return is_head ? allo_recording_take_head(recording, text, err)
		       : add_threads(recording, text, err);
}

static bool take_chunk(struct allo_recording *recording, uint64_t offset,
		       const struct allo_chunk *chunk, struct allo_error *err)
{
	if (is_unpacked(chunk) && !count_chunk(recording, offset, chunk, err))
		return false;
	hash_content(recording, chunk);
	switch (chunk->kind) {
	case ALLO_CHUNK_HEAD:
	case ALLO_CHUNK_THREADS:
		return take_plain(recording, offset, chunk, err);
	case ALLO_STREAM_STACKS:
	case ALLO_STREAM_FACTS:
		return add_piece(recording, offset, chunk, err);
	case ALLO_CHUNK_EVENTS:
		return add_events(recording, offset, chunk, err);
	case ALLO_CHUNK_NAMES:
	case ALLO_CHUNK_INDEX:
	case ALLO_CHUNK_SUMS:
		return add_plain(recording, offset, chunk, err);
	default:
		return true; /* the trailer, or a kind of a later version */
	}
}

/* Reads all chunks in file order, up to the first invalid one. */
static bool scan_chunks(struct allo_recording *recording, struct allo_error *err)
{
	uint64_t at = sizeof(struct allo_packed_head);
	struct allo_chunk chunk;

	while (allo_packed_read_chunk(recording, at, &chunk, err)) {
		if (!take_chunk(recording, at, &chunk, err))
			return false;
		at += sizeof(chunk) + chunk.packed_len;
	}
	return !allo_failed(err);
}

/* The end of the recording by its chunks, for a file in which more bytes follow; the size of the
 * file if there is none. */
static uint64_t find_end(const struct allo_recording *recording, struct allo_error *err)
{
	uint64_t at = sizeof(struct allo_packed_head);
	struct allo_packed_end end;
	struct allo_chunk chunk;
	size_t got;

	while (allo_packed_read_chunk(recording, at, &chunk, err))
		at += sizeof(chunk) + chunk.packed_len;
	if (allo_failed(err) || at >= recording->size ||
	    !allo_random_access_read(&recording->source, at, &end, sizeof(end), &got, err) ||
	    got < sizeof(end) || memcmp(end.magic, ALLO_PACKED_END_MAGIC, sizeof(end.magic)) != 0)
		return recording->size;
	return at + sizeof(end);
}

/* Reads the trailer that ends at `size`.  False if there is none or it is damaged. */
static bool load_trailer(struct allo_recording *recording, uint64_t size,
			 struct allo_piece_bytes *bytes, struct allo_error *err)
{
	struct allo_packed_end end;
	struct allo_chunk chunk;
	size_t got;

	if (size < sizeof(end) ||
	    !allo_random_access_read(&recording->source, size - sizeof(end), &end, sizeof(end),
				     &got, err) ||
	    got < sizeof(end) || memcmp(end.magic, ALLO_PACKED_END_MAGIC, sizeof(end.magic)) != 0 ||
	    end.trailer >= size || !allo_packed_read_chunk(recording, end.trailer, &chunk, err) ||
	    chunk.kind != ALLO_CHUNK_TRAILER ||
	    size - end.trailer != sizeof(chunk) + chunk.packed_len + sizeof(end) ||
	    !count_chunk(recording, end.trailer, &chunk, err))
		return false;
	if (!allo_vec_reserve(&bytes->bytes, (size_t)chunk.raw_len + 1))
		return allo_fail_memory(err);
	return unpack_chunk(recording, end.trailer, &chunk, bytes, err);
}

static bool take_trailer(struct allo_recording *recording, struct allo_text trailer,
			 struct allo_error *err)
{
	struct allo_summary *summary = malloc(sizeof(*summary));
	struct allo_chunk chunk;
	uint64_t offset, end = 0; /* of the chunk before */

	if (!summary)
		return allo_fail_memory(err);
	recording->stored_summary = summary;
	if (!allo_trailer_take_summary(&trailer, summary, &recording->stored_gaps))
		return false;
	while (allo_trailer_take_chunk(&trailer, &offset, &chunk)) {
		/* The index names each chunk once, in file order. */
		if (chunk.raw_len > ALLO_CHUNK_RAW_MAX || offset < end ||
		    offset >= recording->size || chunk.packed_len > recording->size - offset)
			return false;
		end = offset + sizeof(chunk) + chunk.packed_len;
		if (!take_chunk(recording, offset, &chunk, err))
			return false;
	}
	return trailer.len == 0;
}

static bool check_packed_head(struct allo_recording *recording, struct allo_error *err)
{
	struct allo_packed_head head;
	struct allo_pos pos = { .file = recording->name, .byte = 9 };
	size_t got;

	if (!allo_random_access_read(&recording->source, 0, &head, sizeof(head), &got, err))
		return false;
	if (got < sizeof(head))
		return true; /* the file has nothing else */
	if (head.byte_order != ALLO_BYTE_ORDER)
		return allo_fail(err, ALLO_FORMAT, pos,
				 "was recorded on a machine of another byte order");
	if (head.version < ALLO_PACKED_OLDEST || head.version > ALLO_PACKED_WITH_SUMS) {
		allo_fail(err, ALLO_FORMAT, pos,
			  "is a packed recording of version %u; this allo reads %d to %d",
			  head.version, ALLO_PACKED_OLDEST, ALLO_PACKED_WITH_SUMS);
		return allo_hint(err, "read it with the allo that packed it, or a newer one");
	}
	recording->packed_version = head.version;
	return true;
}

/* Takes all chunks by a trailer. */
static bool open_by_trailer(struct allo_recording *recording, uint64_t size, struct allo_error *err)
{
	ALLO_DEFER(allo_piece_bytes_done) struct allo_piece_bytes trailer = { 0 };

	return load_trailer(recording, size, &trailer, err) &&
	       take_trailer(recording,
			    (struct allo_text){ (const char *)trailer.bytes.at, trailer.bytes.len },
			    err);
}

/* Forgets the chunks of an invalid trailer. */
static void forget_chunks(struct allo_recording *recording)
{
	free(recording->stored_summary);
	recording->stored_summary = NULL;
	recording->pieces.len = recording->event_chunks.len = recording->streams.len = 0;
	recording->name_chunks.len = recording->index_chunks.len = recording->arguments.len = 0;
	recording->sum_chunks.len = 0;
	recording->content_hash = 0;
	recording->chunk_table_bytes = recording->chunk_events = 0;
	recording->head_bytes = (struct allo_text){ 0 };
	recording->gaps = (struct allo_gaps){ 0 };
}

bool allo_packed_open(struct allo_recording *recording, struct allo_error *err)
{
	uint64_t end;

	if (!check_packed_head(recording, err))
		return false;
	if (open_by_trailer(recording, recording->size, err))
		return true;
	forget_chunks(recording);
	end = allo_failed(err) ? recording->size : find_end(recording, err);
	if (end < recording->size && open_by_trailer(recording, end, err)) {
		recording->trailing = recording->size - end;
		return true;
	}
	if (allo_failed(err))
		return false;
	forget_chunks(recording);
	recording->gaps = (struct allo_gaps){ .is_cut = true, .has_no_trailer = true };
	return scan_chunks(recording, err);
}

/* Sums. */

bool allo_packed_load_sums(struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_piece_bytes_done) struct allo_piece_bytes piece = { 0 };
	allo_earlier_bytes all = { 0 };
	bool ok = true;

	for (size_t i = 0; i < recording->sum_chunks.len && ok; i++)
		ok = allo_packed_load_plain(recording, &recording->sum_chunks.at[i],
					    ALLO_CHUNK_SUMS, &piece, err) &&
		     (allo_vec_append(&all, piece.bytes.at, piece.bytes.len) ||
		      allo_fail_memory(err));
	if (ok)
		recording->earlier = allo_earlier_read(
			(struct allo_text){ (const char *)all.at, all.len }, err);
	allo_vec_done(&all);
	/* Kept blocks are among the events. */
	if (recording->earlier &&
	    (recording->earlier->kept.len > 0 || recording->earlier->starts.len > 0)) {
		allo_earlier_free(recording->earlier);
		recording->earlier = NULL;
	}
	if (!allo_failed(err) && !recording->earlier)
		allo_recording_damage(recording, recording->sum_chunks.at[0].offset, 1);
	return !allo_failed(err);
}

/* Events. */

static size_t column_count(uint32_t version)
{
	static const size_t counts[] = { ALLO_COLUMNS_WITHOUT_NOTES, ALLO_COLUMNS_WITHOUT_MODEL,
					 ALLO_COLUMNS, ALLO_COLUMNS, ALLO_COLUMNS };

	ALLO_ASSERT(version >= ALLO_PACKED_OLDEST && version <= ALLO_PACKED_WITH_SUMS);
	return counts[version - ALLO_PACKED_OLDEST];
}

static bool load_events(struct allo_recording *recording, const struct allo_event_chunk *chunk,
			struct allo_piece_bytes *bytes, struct allo_column_reader *reader,
			struct allo_error *err)
{
	struct allo_chunk head;

	bytes->bytes.len = 0;
	if (!allo_vec_reserve(&bytes->bytes, (size_t)chunk->raw_len + 1))
		return allo_fail_memory(err);
	if (!allo_packed_read_chunk(recording, chunk->offset, &head, err) ||
	    head.raw_len != chunk->raw_len || head.kind != ALLO_CHUNK_EVENTS ||
	    head.sequence != chunk->sequence ||
	    !read_packed(recording, chunk->offset, &head, bytes, err))
		return false;
	allo_recording_add_progress(recording, chunk->file_len);
	return allo_event_columns_unpack(
		reader, recording->unpacker, column_count(recording->packed_version), chunk->count,
		(struct allo_text){ (const char *)bytes->packed.at, bytes->packed.len },
		bytes->bytes.at, chunk->raw_len);
}

struct allo_packed_events {
	size_t next_chunk;
	size_t threads;
	struct allo_piece_bytes bytes;
	struct allo_column_reader reader; /* of the current chunk */
	struct allo_column_state state;
	struct allo_event_model *model; /* of a modelled recording; or NULL */
};

struct allo_packed_events *allo_packed_events_new(const struct allo_recording *recording,
						  struct allo_error *err)
{
	struct allo_packed_events *events = calloc(1, sizeof(*events));

	if (!events || !allo_column_state_init(&events->state, recording->nodes.len, err)) {
		free(events);
		allo_fail_memory(err);
		return NULL;
	}
	events->threads = allo_recording_thread_count(recording);
	return events;
}

void allo_packed_events_free(struct allo_packed_events *events)
{
	if (!events)
		return;
	allo_piece_bytes_done(&events->bytes);
	allo_column_state_done(&events->state);
	allo_event_model_free(events->model);
	free(events);
}

/* Skips all further chunks: they cannot be decoded without the damaged or missing one. */
static void give_up(struct allo_packed_events *events, struct allo_recording *recording,
		    uint64_t damaged_at)
{
	size_t left = recording->event_chunks.len - events->next_chunk;

	ALLO_ASSERT(events->next_chunk <= recording->event_chunks.len);
	allo_recording_damage(recording, damaged_at, 1);
	recording->gaps.unread_pages += left;
	events->next_chunk += left;
	events->reader = (struct allo_column_reader){ 0 };
}

/* Makes the model of modelled events; false if the chunk does not fit the chunks before. */
static bool find_model(struct allo_packed_events *events, struct allo_error *err)
{
	size_t stacks = events->state.site_count;

	/* Either all chunks are modelled or none. */
	if (!events->reader.is_modelled)
		return !events->model;
	if (!events->model && (events->next_chunk > 1 || stacks > ALLO_MODEL_STACKS_MAX))
		return false;
	if (!events->model)
		events->model = allo_event_model_new(stacks);
	events->reader.model = events->model;
	return events->model || allo_fail_memory(err);
}

/* Goes to the next chunk; false at the end. */
static bool next_chunk(struct allo_packed_events *events, struct allo_recording *recording,
		       struct allo_error *err)
{
	const struct allo_event_chunk *chunk;
	size_t number = events->next_chunk;

	if (number == recording->event_chunks.len)
		return false;
	ALLO_ASSERT(number < recording->event_chunks.len && events->reader.left == 0);
	chunk = &recording->event_chunks.at[events->next_chunk++];
	if (chunk->sequence == number &&
	    load_events(recording, chunk, &events->bytes, &events->reader, err) &&
	    find_model(events, err))
		return true;
	if (!allo_failed(err))
		give_up(events, recording, chunk->offset);
	return false;
}

/* Maps texts and label sets of events to the tables of the recording. */
static void settle_notes(struct allo_event *events, size_t count,
			 const struct allo_recording *recording)
{
	for (size_t i = 0; i < count; i++) {
		if (events[i].kind >= ALLO_EVENT_LABELS)
			allo_event_settle(&events[i], recording);
	}
}

bool allo_packed_events_next(struct allo_packed_events *events, struct allo_recording *recording,
			     struct allo_event *room, struct allo_event_span *span, size_t *silent,
			     struct allo_error *err)
{
	for (;;) {
		uint64_t before = events->state.silent, notes = events->state.notes;
		size_t count = allo_event_columns_take(&events->reader, &events->state, room,
						       ALLO_EVENTS_AT_ONCE, events->threads);

		if (events->state.notes > notes)
			settle_notes(room, count, recording);
		if (events->model && allo_event_model_is_short(events->model))
			return allo_fail_memory(err);
		/* Events before the damage are valid. */
		if (events->reader.is_damaged)
			give_up(events, recording,
				recording->event_chunks.at[events->next_chunk - 1].offset);
		if (count > 0) {
			*span = (struct allo_event_span){ room, count };
			*silent = (size_t)(events->state.silent - before);
			return true;
		}
		if (!next_chunk(events, recording, err))
			return false;
	}
}
