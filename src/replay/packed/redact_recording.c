/* redact_recording.c - copies the file piece by piece; events stay as they are. */
#include "replay/packed/redact_recording.h"

#include "base/defer.h"
#include "replay/packed/chunk_writer.h"
#include "replay/packed/packed_file.h"
#include "wire/stacks.h"

#include <string.h>

enum { PAGES_SIZE = 1 << 20 }; /* bytes of facts in a chunk */

typedef ALLO_VEC(uint8_t) bytes;

struct copier {
	struct allo_recording recording;
	struct allo_chunk_writer writer;
	const struct allo_text_change *change;
	struct allo_piece_bytes piece;
	bool has_head, has_stacks, has_facts, has_threads; /* written */
};

static void copier_done(struct copier *copier)
{
	allo_piece_bytes_done(&copier->piece);
	allo_chunk_writer_done(&copier->writer);
	allo_recording_close(&copier->recording);
}

static struct allo_text changed(const struct copier *copier, enum allo_private_text kind,
				struct allo_text text, struct allo_error *err)
{
	return text.len > 0 ? copier->change->text(copier->change->context, kind, text, err) : text;
}

/* The head: its fields, then all that it refers to. */

/* Appends to the slot.  A text that does not fit is cut. */
static struct allo_wire_text put_text(bytes *slot, struct allo_text text, struct allo_error *err)
{
	struct allo_wire_text at = { (uint32_t)slot->len, 0 };

	if (text.len > ALLO_SLOT_SIZE - slot->len)
		text.len = ALLO_SLOT_SIZE - slot->len;
	at.len = (uint32_t)text.len;
	allo_vec_add_all(slot, (const uint8_t *)text.data, text.len, err);
	return at;
}

static struct allo_wire_text put_arguments(bytes *slot, const struct copier *copier,
					   struct allo_error *err)
{
	const struct allo_recording *recording = &copier->recording;
	struct allo_wire_text all = { (uint32_t)slot->len, 0 };

	for (size_t i = 0; i < recording->arguments.len && !copier->change->drops_arguments; i++) {
		put_text(slot,
			 changed(copier, ALLO_PRIVATE_ARGUMENT, recording->arguments.at[i], err),
			 err);
		put_text(slot, (struct allo_text){ "", 1 }, err);
	}
	all.len = (uint32_t)slot->len - all.at;
	return all;
}

static void align_slot(bytes *slot, struct allo_error *err)
{
	static const uint8_t zeros[8];

	allo_vec_add_all(slot, zeros, -slot->len % sizeof(zeros), err);
}

/* Events refer to the marks by their order. */
static struct allo_wire_marks put_marks(bytes *slot, const struct copier *copier,
					struct allo_error *err)
{
	const struct allo_wire_marks *old = &copier->recording.head.marks;
	struct allo_text head = copier->recording.head_bytes;
	struct allo_wire_marks marks = { .at = (uint32_t)slot->len };
	uint64_t end = (uint64_t)old->at + old->used;
	struct allo_wire_mark mark;

	if (end > head.len)
		end = head.len;
	for (uint64_t at = old->at; at + sizeof(mark) < end; at += allo_wire_mark_size(mark.len)) {
		struct allo_text name = { head.data + at + sizeof(mark), 0 };

		memcpy(&mark, head.data + at, sizeof(mark));
		if (mark.len == 0 || mark.len > end - at - sizeof(mark))
			break;
		name.len = mark.len;
		name = changed(copier, ALLO_PRIVATE_LABEL, name, err);
		put_text(slot,
			 (struct allo_text){ (const char *)&(struct allo_wire_mark){
						     mark.monotonic_ns, (uint32_t)name.len, 0 },
					     sizeof(mark) },
			 err);
		put_text(slot, name, err);
		align_slot(slot, err);
	}
	marks.used = marks.room = (uint32_t)slot->len - marks.at;
	return marks;
}

static bool write_head(struct copier *copier, struct allo_error *err)
{
	const struct allo_recording *recording = &copier->recording;
	struct allo_wire_head head = recording->head;
	bytes slot = { 0 };
	bool ok;

	allo_vec_add_all(&slot, (const uint8_t *)&head, sizeof(head), err);
	if (recording->resident)
		head.resident = put_text(&slot,
					 (struct allo_text){ (const char *)recording->resident,
							     sizeof(*recording->resident) },
					 err);
	align_slot(&slot, err);
	head.marks = put_marks(&slot, copier, err);
	head.program = put_text(&slot,
				changed(copier, ALLO_PRIVATE_MODULE, recording->program, err), err);
	head.folder = put_text(&slot, changed(copier, ALLO_PRIVATE_MODULE, recording->folder, err),
			       err);
	head.host = put_text(&slot, changed(copier, ALLO_PRIVATE_HOST, recording->host, err), err);
	head.arguments = put_arguments(&slot, copier, err);
	ok = !allo_failed(err);
	if (ok) {
		memcpy(slot.at, &head, sizeof(head));
		ok = allo_chunk_write_plain(&copier->writer,
					    (struct allo_chunk){ .kind = ALLO_CHUNK_HEAD }, slot.at,
					    slot.len, err);
	}
	allo_vec_done(&slot);
	return ok;
}

/* Facts.  Changed ones may need more room, so they are distributed to pages anew. */

struct fact_pages {
	struct allo_wire_slot slot; /* of the current page */
	bytes page;                 /* without its header */
	bytes all;
	uint32_t first, count; /* pages in `all` */
};

static void fact_pages_done(struct fact_pages *pages)
{
	allo_vec_done(&pages->page);
	allo_vec_done(&pages->all);
}

static void end_page(struct fact_pages *pages, struct allo_error *err)
{
	pages->slot.sequence = pages->first + pages->count++;
	pages->slot.used = (uint32_t)pages->page.len;
	allo_vec_add_all(&pages->all, (const uint8_t *)&pages->slot, sizeof(pages->slot), err);
	allo_vec_add_all(&pages->all, pages->page.at, pages->page.len, err);
	pages->page.len = 0;
}

static void add_number(bytes *fact, uint64_t number, struct allo_error *err)
{
	uint8_t room[ALLO_VARINT_MAX];

	allo_vec_add_all(fact, room, (size_t)(allo_varint_put(room, number) - room), err);
}

static void add_fact(struct fact_pages *pages, uint8_t kind, const bytes *fact,
		     struct allo_error *err)
{
	if (pages->page.len + fact->len + 1 + ALLO_VARINT_MAX > ALLO_SLOT_ROOM)
		end_page(pages, err);
	allo_vec_add(&pages->page, kind, err);
	add_number(&pages->page, fact->len, err);
	allo_vec_add_all(&pages->page, fact->at, fact->len, err);
}

/* Copies the numbers before a text, and changes the text. */
static bool change_text(const struct copier *copier, enum allo_private_text kind, unsigned numbers,
			const uint8_t *at, const uint8_t *end, bytes *fact, struct allo_error *err)
{
	struct allo_text text;
	uint64_t number;

	for (; numbers > 0; numbers--) {
		if (!allo_varint_take(&at, end, &number))
			return false;
		add_number(fact, number, err);
	}
	if (kind == ALLO_PRIVATE_MODULE) {
		if (!allo_varint_take(&at, end, &number) || number > (uint64_t)(end - at))
			return false;
		if (copier->change->drops_build_ids) {
			add_number(fact, 0, err);
		} else {
			add_number(fact, number, err);
			allo_vec_add_all(fact, at, (size_t)number, err);
		}
		at += number;
	}
	text = changed(copier, kind, (struct allo_text){ (const char *)at, (size_t)(end - at) },
		       err);
	allo_vec_add_all(fact, (const uint8_t *)text.data, text.len, err);
	return true;
}

static void add_text(bytes *fact, struct allo_text text, struct allo_error *err)
{
	add_number(fact, text.len, err);
	allo_vec_add_all(fact, (const uint8_t *)text.data, text.len, err);
}

/* Copies number, language and first line, and changes file and name. */
static bool change_function(const struct copier *copier, const uint8_t *at, const uint8_t *end,
			    bytes *fact, struct allo_error *err)
{
	struct allo_text file, name;
	uint64_t number;

	for (unsigned i = 0; i < 3; i++) {
		if (!allo_varint_take(&at, end, &number))
			return false;
		add_number(fact, number, err);
	}
	if (!allo_varint_take(&at, end, &number) || number > (uint64_t)(end - at))
		return false;
	file = (struct allo_text){ (const char *)at, (size_t)number };
	name = (struct allo_text){ (const char *)at + number, (size_t)(end - at) - (size_t)number };
	add_text(fact, changed(copier, ALLO_PRIVATE_FILE, file, err), err);
	name = changed(copier, ALLO_PRIVATE_FUNCTION, name, err);
	allo_vec_add_all(fact, (const uint8_t *)name.data, name.len, err);
	return true;
}

/* The state, the name and the path of an allocator. */
static bool change_allocator(const struct copier *copier, const uint8_t *at, const uint8_t *end,
			     bytes *fact, struct allo_error *err)
{
	struct allo_text path;
	uint64_t number;

	if (!allo_varint_take(&at, end, &number))
		return false;
	add_number(fact, number, err);
	if (!allo_varint_take(&at, end, &number) || number > (uint64_t)(end - at))
		return false;
	add_text(fact, (struct allo_text){ (const char *)at, (size_t)number }, err);
	at += number;
	path = changed(copier, ALLO_PRIVATE_MODULE,
		       (struct allo_text){ (const char *)at, (size_t)(end - at) }, err);
	allo_vec_add_all(fact, (const uint8_t *)path.data, path.len, err);
	return true;
}

static bool change_fact(const struct copier *copier, uint8_t kind, const uint8_t *at,
			const uint8_t *end, bytes *fact, struct allo_error *err)
{
	switch (kind) {
	case ALLO_FACT_MODULE: /* generation, bias, start, end */
		return change_text(copier, ALLO_PRIVATE_MODULE, 4, at, end, fact, err);
	case ALLO_FACT_TEXT:
		return change_text(copier, ALLO_PRIVATE_LABEL, 1, at, end, fact, err);
	case ALLO_FACT_FUNCTION:
		return change_function(copier, at, end, fact, err);
	case ALLO_FACT_ALLOCATOR:
		return change_allocator(copier, at, end, fact, err);
	case ALLO_FACT_MODULE_GONE:
	case ALLO_FACT_LABELS:
	case ALLO_FACT_INTERPRETER:
	case ALLO_FACT_RATE:
		allo_vec_add_all(fact, at, (size_t)(end - at), err);
		return true;
	default:
		return false; /* a kind of a later version may hold a text */
	}
}

static void change_page(const struct copier *copier, const uint8_t *at, const uint8_t *end,
			struct fact_pages *pages, struct allo_error *err)
{
	bytes fact = { 0 };

	while (at < end && !allo_failed(err)) {
		uint8_t kind = *at++;
		uint64_t len;

		if (!allo_varint_take(&at, end, &len) || len > (uint64_t)(end - at))
			break;
		fact.len = 0;
		if (change_fact(copier, kind, at, at + len, &fact, err) &&
		    fact.len + 1 + ALLO_VARINT_MAX <= ALLO_SLOT_ROOM)
			add_fact(pages, kind, &fact, err);
		at += len;
	}
	allo_vec_done(&fact);
}

static bool write_pages(struct copier *copier, const struct allo_stream *stream,
			struct fact_pages *pages, struct allo_error *err)
{
	struct allo_chunk chunk = { .kind = ALLO_STREAM_FACTS,
				    .stream = stream->number,
				    .sequence = pages->first,
				    .count = pages->count };
	bool ok = !allo_failed(err) && allo_chunk_write_plain(&copier->writer, chunk, pages->all.at,
							      pages->all.len, err);

	pages->first += pages->count;
	pages->count = 0;
	pages->all.len = 0;
	return ok;
}

static bool write_facts_of(struct copier *copier, const struct allo_stream *stream,
			   struct allo_error *err)
{
	ALLO_DEFER(fact_pages_done) struct fact_pages pages = { 0 };
	struct allo_recording *recording = &copier->recording;
	struct allo_wire_slot slot;
	const uint8_t *at, *end;

	for (size_t i = 0; i < stream->piece_count; i++) {
		if (!allo_recording_load(recording, &recording->pieces.at[stream->first_piece + i],
					 &copier->piece, err))
			return false;
		while (allo_piece_next(&copier->piece, &slot, &at, &end)) {
			pages.slot = slot;
			memset(pages.slot.name, 0, sizeof(pages.slot.name));
			change_page(copier, at, end, &pages, err);
			if (pages.all.len > PAGES_SIZE && !write_pages(copier, stream, &pages, err))
				return false;
		}
	}
	end_page(&pages, err);
	return write_pages(copier, stream, &pages, err);
}

static bool write_facts(struct copier *copier, struct allo_error *err)
{
	for (size_t i = 0; i < copier->recording.streams.len; i++) {
		const struct allo_stream *stream = &copier->recording.streams.at[i];

		if (stream->kind == ALLO_STREAM_FACTS && stream->piece_count > 0 &&
		    !write_facts_of(copier, stream, err))
			return false;
	}
	return true;
}

/* Stacks: numbers, but each page has the name of a thread. */

static void clear_names(struct allo_piece_bytes *piece)
{
	struct allo_wire_slot slot;
	const uint8_t *at, *end;
	size_t page = piece->next;

	for (; allo_piece_next(piece, &slot, &at, &end); page = piece->next)
		memset(piece->bytes.at + page + offsetof(struct allo_wire_slot, name), 0,
		       sizeof(slot.name));
}

static bool write_stacks(struct copier *copier, struct allo_error *err)
{
	struct allo_recording *recording = &copier->recording;

	for (size_t i = 0; i < recording->pieces.len; i++) {
		const struct allo_piece *piece = &recording->pieces.at[i];
		struct allo_chunk chunk = { .kind = ALLO_STREAM_STACKS,
					    .stream = piece->stream,
					    .sequence = piece->sequence,
					    .count = piece->pages };

		if (piece->kind != ALLO_STREAM_STACKS)
			continue;
		if (!allo_recording_load(recording, piece, &copier->piece, err))
			return false;
		clear_names(&copier->piece);
		if (copier->piece.bytes.len > 0 &&
		    !allo_chunk_write_plain(&copier->writer, chunk, copier->piece.bytes.at,
					    copier->piece.bytes.len, err))
			return false;
	}
	return true;
}

/* Threads. */

static bool write_threads(struct copier *copier, struct allo_error *err)
{
	ALLO_VEC(struct allo_packed_thread) threads = { 0 };
	const struct allo_recording *recording = &copier->recording;
	bool ok;

	for (size_t i = 0; i < recording->streams.len && !allo_failed(err); i++) {
		const struct allo_stream *stream = &recording->streams.at[i];
		struct allo_packed_thread thread = { stream->number, stream->thread,
						     stream->dropped, "" };
		struct allo_text name;

		if (stream->kind != ALLO_STREAM_EVENTS)
			continue;
		name = changed(copier, ALLO_PRIVATE_LABEL, stream->name, err);
		memcpy(thread.name, name.data,
		       name.len < sizeof(thread.name) ? name.len : sizeof(thread.name));
		allo_vec_add(&threads, thread, err);
	}
	ok = !allo_failed(err) &&
	     allo_chunk_write_plain(&copier->writer,
				    (struct allo_chunk){ .kind = ALLO_CHUNK_THREADS,
							 .count = (uint32_t)threads.len },
				    threads.at, threads.len * sizeof(*threads.at), err);
	allo_vec_done(&threads);
	return ok;
}

/* The file.  A recording may have several chunks of a kind: the first stands for all. */

static bool write_once(struct copier *copier, bool *is_written,
		       bool (*write)(struct copier *, struct allo_error *), struct allo_error *err)
{
	bool is_first = !*is_written;

	*is_written = true;
	return !is_first || write(copier, err);
}

static bool copy_chunk(struct copier *copier, uint64_t offset, const struct allo_chunk *chunk,
		       struct allo_error *err)
{
	switch (chunk->kind) {
	case ALLO_CHUNK_HEAD:
		return write_once(copier, &copier->has_head, write_head, err);
	case ALLO_STREAM_FACTS:
		return write_once(copier, &copier->has_facts, write_facts, err);
	case ALLO_CHUNK_THREADS:
		return write_once(copier, &copier->has_threads, write_threads, err);
	case ALLO_STREAM_STACKS:
		return write_once(copier, &copier->has_stacks, write_stacks, err);
	case ALLO_CHUNK_EVENTS:
		return allo_recording_copy_chunk(&copier->recording, offset, chunk, &copier->piece,
						 &copier->writer, err);
	default:
		return true;
	}
}

static bool copy_chunks(struct copier *copier, struct allo_error *err)
{
	uint64_t at = sizeof(struct allo_packed_head);
	struct allo_chunk chunk;

	while (allo_packed_read_chunk(&copier->recording, at, &chunk, err) &&
	       chunk.kind != ALLO_CHUNK_TRAILER) {
		if (!copy_chunk(copier, at, &chunk, err))
			return false;
		at += sizeof(chunk) + chunk.packed_len;
	}
	return !allo_failed(err);
}

bool allo_recording_redact(const char *path, const char *out_path,
			   const struct allo_text_change *change,
			   const struct allo_name_tables *names, struct allo_error *err)
{
	ALLO_DEFER(copier_done)
	struct copier copier = { .writer.out.fd = -1, .change = change };
	const struct allo_output_options output = { .replace = true };
	struct allo_recording *recording = &copier.recording;

	if (!allo_recording_open_file(recording, path, NULL, err))
		return false;
	if (!recording->stored_summary)
		return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = recording->name },
				 "is damaged or cut");
	if (!allo_output_open(&copier.writer.out, out_path, &output, err))
		return false;
	allo_chunk_writer_begin(&copier.writer, recording->packed_version);
	return copy_chunks(&copier, err) && allo_name_tables_write(names, &copier.writer, err) &&
	       allo_chunk_writer_finish(&copier.writer, recording->name, recording->stored_summary,
					&recording->stored_gaps, err);
}
