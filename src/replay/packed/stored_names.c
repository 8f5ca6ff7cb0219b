/*
 * stored_names.c - tables of functions, files and lines, which frames refer to by module and
 * address.
 */
#include "replay/packed/stored_names.h"

#include "base/assert.h"
#include "base/defer.h"
#include "profile/offset_name.h"
#include "replay/packed/chunk_writer.h"
#include "replay/packed/pack_recording.h"
#include "replay/packed/packed_file.h"

#include <stdlib.h>
#include <xxhash.h>

/* Limits of a table: a damaged one loses no more names than that. */
enum { ROWS_MOST = 1 << 14, BYTES_MOST = 4 << 20 };

/* The key of a frame in a table.  Modules that were loaded twice share it. */
struct place {
	allo_string_id path, build_id;
	uint64_t address; /* in the module's file */
	allo_frame_id frame;
};

typedef ALLO_VEC(struct place) places;

void allo_name_tables_done(struct allo_name_tables *tables)
{
	allo_vec_done(&tables->bytes);
	allo_vec_done(&tables->tables);
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	if (a->build_id != b->build_id)
		return a->build_id < b->build_id ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static bool place_in_module(const struct allo_profile *profile, const struct allo_frame *frame,
			    struct place *place)
{
	const struct allo_module *module = &profile->modules.at[frame->module];

	place->path = module->path;
	place->build_id = module->build_id;
	place->address = frame->address - module->bias;
	return module->path != 0 && module->has_bias;
}

/* Finds the frames with names, or those without, and sorts them like the tables. */
static bool find_places(places *found, const struct allo_profile *profile, bool are_named,
			struct allo_error *err)
{
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		struct place place = { .frame = (allo_frame_id)i, .address = frame->address };

		if ((frame->line_count > 0) != are_named || frame->address == 0)
			continue;
		/* Code outside of modules is identified by its address. */
		if (frame->module != 0 && !place_in_module(profile, frame, &place))
			continue;
		if (!allo_vec_append(found, &place, 1))
			return allo_fail_memory(err);
	}
	if (found->len > 1)
		qsort(found->at, found->len, sizeof(*found->at), compare_places);
	return true;
}

/* Using stored names. */

/* The first place that is not less than `wanted`. */
static size_t find_place(const places *all, const struct place *wanted)
{
	size_t low = 0, high = all->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_places(&all->at[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_same_address(const struct place *a, const struct place *b)
{
	return a->path == b->path && a->build_id == b->build_id && a->address == b->address;
}

/* Names all frames of a row. */
static bool use_row(struct allo_name_reader *reader, const struct allo_name_row *row,
		    const places *unnamed, struct place *place, struct allo_error *err)
{
	struct allo_profile *profile = reader->profile;
	const struct allo_line *lines = NULL;

	place->address = row->address;
	for (size_t i = find_place(unnamed, place);
	     i < unnamed->len && is_same_address(&unnamed->at[i], place); i++) {
		allo_frame_id frame = unnamed->at[i].frame;

		if (profile->frames.at[frame].line_count > 0)
			continue; /* named by an earlier table */
		if (!lines)
			lines = allo_name_reader_take(reader, err);
		if (!lines || !allo_profile_set_lines(profile, frame, lines, row->line_count, err))
			return false;
	}
	return true;
}

/* True if the table is intact; see also err. */
static bool use_table(struct allo_profile *profile, struct allo_text bytes, const places *unnamed,
		      enum allo_stored_choice choice, struct allo_error *err)
{
	ALLO_DEFER(allo_name_reader_done) struct allo_name_reader reader = { 0 };
	struct allo_name_row row;
	struct place place = { 0 };

	if (!allo_name_reader_open(&reader, profile, bytes, err))
		return false;
	place.path = allo_profile_add_string(profile, reader.path, err);
	place.build_id = allo_profile_add_string(profile, reader.build_id, err);
	while (!allo_failed(err) && allo_name_reader_next(&reader, &row, err)) {
		if (row.line_count == 0 ||
		    (choice == ALLO_STORED_WITH_LINES && reader.lines.at[0].line == 0))
			continue;
		if (!use_row(&reader, &row, unnamed, &place, err))
			return false;
	}
	return !allo_failed(err) && reader.rows_left == 0;
}

bool allo_stored_names_use(struct allo_recording *recording, struct allo_profile *profile,
			   enum allo_stored_choice choice, struct allo_error *err)
{
	ALLO_DEFER(allo_piece_bytes_done) struct allo_piece_bytes bytes = { 0 };
	places unnamed = { 0 };
	bool ok = recording->name_chunks.len == 0 || find_places(&unnamed, profile, false, err);

	for (size_t i = 0; i < recording->name_chunks.len && ok; i++) {
		const struct allo_plain_chunk *chunk = &recording->name_chunks.at[i];

		if (!allo_packed_load_plain(recording, chunk, ALLO_CHUNK_NAMES, &bytes, err) ||
		    !use_table(profile,
			       (struct allo_text){ (const char *)bytes.bytes.at, bytes.bytes.len },
			       &unnamed, choice, err))
			allo_recording_damage(recording, chunk->offset, 1);
		ok = !allo_failed(err);
	}
	allo_vec_done(&unnamed);
	return ok;
}

/* Making tables. */

static bool finish_table(struct allo_name_tables *tables, struct allo_name_writer *writer,
			 struct allo_error *err)
{
	struct allo_name_table_size size = { tables->bytes.len, writer->row_count };

	if (writer->row_count == 0)
		return true;
	ALLO_ASSERT(writer->row_count <= ROWS_MOST);
	if (!allo_name_writer_finish(writer, &tables->bytes, err))
		return false;
	size.len = tables->bytes.len - size.len;
	return allo_vec_append(&tables->tables, &size, 1) || allo_fail_memory(err);
}

/* The places of one module. */
static bool add_module(struct allo_name_tables *tables, const struct allo_profile *profile,
		       const struct place *named, size_t count, struct allo_error *err)
{
	ALLO_DEFER(allo_name_writer_done)
	struct allo_name_writer writer = { .profile = profile,
					   .path = allo_profile_text(profile, named->path),
					   .build_id = allo_profile_text(profile,
									 named->build_id) };

	ALLO_ASSERT(count > 0);
	for (size_t i = 0; i < count; i++) {
		const struct allo_frame *frame = &profile->frames.at[named[i].frame];

		const struct allo_line *lines = &profile->lines.at[frame->first_line];

		tables->frames += !allo_call_has_offset_name(profile, frame, 0);
		tables->with_line += lines->line != 0;
		if (i > 0 && named[i].address == named[i - 1].address)
			continue;
		if (!allo_name_writer_add(&writer, named[i].address, lines, frame->line_count, err))
			return false;
		if ((writer.row_count == ROWS_MOST ||
		     allo_name_writer_size(&writer) > BYTES_MOST) &&
		    !finish_table(tables, &writer, err))
			return false;
	}
	return finish_table(tables, &writer, err);
}

bool allo_name_tables_of(struct allo_name_tables *tables, const struct allo_profile *profile,
			 struct allo_error *err)
{
	places named = { 0 };
	bool ok = find_places(&named, profile, true, err);
	size_t count;

	for (size_t i = 0; i < named.len && ok; i += count) {
		for (count = 1; i + count < named.len; count++) {
			if (named.at[i + count].path != named.at[i].path ||
			    named.at[i + count].build_id != named.at[i].build_id)
				break;
		}
		ok = add_module(tables, profile, named.at + i, count, err);
	}
	allo_vec_done(&named);
	return ok;
}

/* Storing. */

bool allo_name_tables_write(const struct allo_name_tables *tables, struct allo_chunk_writer *writer,
			    struct allo_error *err)
{
	const char *at = tables->bytes.at;

	for (size_t i = 0; i < tables->tables.len; i++) {
		const struct allo_name_table_size *size = &tables->tables.at[i];
		struct allo_chunk chunk = { .kind = ALLO_CHUNK_NAMES,
					    .sequence = (uint32_t)i,
					    .count = size->rows };

		/* A single name may be of any length, but readers limit the size of a chunk. */
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
		  "is damaged or cut; only complete recordings take names or an index");
	return allo_hint(err, "'allo verify' lists the damage");
}

bool allo_recording_copy_chunk(struct allo_recording *recording, uint64_t offset,
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

static bool is_copied(const struct allo_chunk *chunk, unsigned parts)
{
	return chunk->kind == ALLO_CHUNK_NAMES   ? parts & ALLO_COPY_NAMES
	       : chunk->kind == ALLO_CHUNK_INDEX ? parts & ALLO_COPY_INDEX
						 : true;
}

bool allo_recording_copy_chunks(struct allo_recording *recording, unsigned parts,
				struct allo_chunk_writer *writer, struct allo_error *err)
{
	ALLO_DEFER(allo_piece_bytes_done) struct allo_piece_bytes bytes = { 0 };
	uint64_t at = sizeof(struct allo_packed_head);
	struct allo_chunk chunk;

	for (;;) {
		if (!allo_packed_read_chunk(recording, at, &chunk, err))
			return allo_failed(err) ? false : fail_damaged(recording, at, err);
		if (chunk.kind == ALLO_CHUNK_TRAILER)
			return true;
		if (is_copied(&chunk, parts) &&
		    !allo_recording_copy_chunk(recording, at, &chunk, &bytes, writer, err))
			return false;
		at += sizeof(chunk) + chunk.packed_len;
		allo_recording_add_progress(recording, sizeof(chunk) + chunk.packed_len);
	}
}

static bool copy_named(struct allo_recording *recording, const char *out_path,
		       const struct allo_output_options *output,
		       const struct allo_name_tables *tables, unsigned parts,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_chunk_writer_done) struct allo_chunk_writer writer = { .out.fd = -1 };

	if (!recording->stored_summary)
		return fail_damaged(recording, recording->size, err);
	if (!allo_output_open(&writer.out, out_path, output, err))
		return false;
	allo_chunk_writer_begin(&writer, recording->packed_version);
	return allo_recording_copy_chunks(recording, parts, &writer, err) &&
	       allo_name_tables_write(tables, &writer, err) &&
	       allo_chunk_writer_finish(&writer, recording->name, recording->stored_summary,
					&recording->stored_gaps, err);
}

bool allo_recording_store_names(const char *path, const char *out_path,
				const struct allo_output_options *output,
				const struct allo_name_tables *tables, unsigned parts,
				const struct allo_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };

	if (!allo_recording_open_file(&recording, path, progress, err))
		return false;
	if (recording.is_packed)
		return copy_named(&recording, out_path, output, tables, parts, err);
	return allo_recording_pack_named(path, out_path, output, tables, progress, err);
}
