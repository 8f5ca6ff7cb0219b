/* rheaper_stacks.c - reads the files of backtraces line by line. */
#include "readers/rheaper/rheaper_stacks.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/json_read.h"
#include "base/utf8.h"

/* Minimum bytes per read. */
enum { READ_SIZE = 256 << 10 };

struct reader {
	struct allo_rheaper_stacks *stacks;
	struct allo_rheaper_files *files;
	struct allo_profile *profile;
	struct allo_stack_builder builder;
	ALLO_VEC(allo_frame_id) frames; /* of the current backtrace, leaf first */
	uint64_t nulls;                 /* null frames among them */
	/* The current file. */
	const struct allo_rheaper_file *file;
	uint64_t read, line;  /* bytes read, lines begun */
	ALLO_VEC(char) bytes; /* buffer; lines in the first `used` bytes are done */
	size_t used;
};

static void reader_done(struct reader *reader)
{
	allo_stack_builder_done(&reader->builder);
	allo_vec_done(&reader->frames);
	allo_vec_done(&reader->bytes);
}

struct allo_text allo_without_rust_hash(struct allo_text name)
{
	const size_t mark = 3, digits = 16; /* "::h" */
	struct allo_text hash;
	uint64_t value;

	if (name.len <= mark + digits)
		return name;
	hash = allo_text_from(name, name.len - mark - digits);
	if (!allo_text_skip(&hash, ALLO_TEXT("::h")) || !allo_text_hex(hash, &value))
		return name;
	return (struct allo_text){ name.data, name.len - mark - digits };
}

/* A position in the current line. */
static struct allo_pos pos_of(const struct reader *reader, uint64_t byte)
{
	return allo_rheaper_pos(reader->files, reader->file, reader->line, byte);
}

/* Frames. */

static bool next_is_null(struct allo_json *json, struct allo_error *err)
{
	return allo_json_peek(json, err) == 'n';
}

/* Adds a string to the profile; null gives none. */
static bool read_text(struct reader *reader, struct allo_json *json, bool is_symbol,
		      allo_string_id *string, struct allo_error *err)
{
	struct allo_text text;

	if (next_is_null(json, err))
		return allo_json_skip(json, err);
	if (!allo_json_string(json, &text, err))
		return false;
	if (!allo_utf8_is_valid(text))
		allo_note(&reader->profile->notes, ALLO_NOTE_BAD_UTF8, pos_of(reader, 1));
	if (is_symbol)
		text = allo_without_rust_hash(text);
	*string = allo_profile_add_string(reader->profile, text, err);
	return !allo_failed(err);
}

static bool read_line_number(struct allo_json *json, struct allo_line *line, struct allo_error *err)
{
	uint64_t number;

	if (next_is_null(json, err))
		return allo_json_skip(json, err);
	if (!allo_json_u64(json, &number, err))
		return false;
	line->line = number > UINT32_MAX ? 0 : (uint32_t)number;
	return true;
}

static bool read_frame(struct reader *reader, struct allo_json *json, allo_frame_id *id,
		       struct allo_error *err)
{
	struct allo_function function = { 0 };
	struct allo_line line = { 0 };
	struct allo_frame frame = { 0 };
	struct allo_text key;
	bool ok = true;

	if (next_is_null(json, err)) {
		reader->nulls++;
		ok = allo_json_skip(json, err);
	} else if (allo_json_begin(json, '{', err)) {
		while (ok && allo_json_key(json, &key, err)) {
			if (allo_text_equal(key, ALLO_TEXT("sym_name")))
				ok = read_text(reader, json, true, &function.name, err);
			else if (allo_text_equal(key, ALLO_TEXT("file")))
				ok = read_text(reader, json, false, &function.file, err);
			else if (allo_text_equal(key, ALLO_TEXT("lineno")))
				ok = read_line_number(json, &line, err);
			else
				ok = allo_json_skip(json, err);
		}
	}
	if (!ok || allo_failed(err))
		return false;
	if (function.name || function.file)
		line.function = allo_profile_add_function(reader->profile, &function, err);
	*id = allo_profile_add_frame(reader->profile, &frame, &line, line.function ? 1 : 0, err);
	return *id != 0 && !allo_failed(err);
}

static bool read_frames(struct reader *reader, struct allo_json *json, struct allo_error *err)
{
	if (!allo_json_begin(json, '[', err))
		return false;
	while (allo_json_item(json, err)) {
		allo_frame_id frame;

		if (!read_frame(reader, json, &frame, err))
			return false;
		if (!allo_vec_append(&reader->frames, &frame, 1))
			return allo_fail_memory(err);
	}
	return !allo_failed(err);
}

/* Backtraces. */

static uint32_t site_of(struct allo_rheaper_stacks *stacks, allo_stack_id stack,
			struct allo_error *err)
{
	if (stack == 0)
		return 0;
	if (!allo_vec_cover(&stacks->site_of, (size_t)stack + 1)) {
		allo_fail_memory(err);
		return 0;
	}
	if (stacks->site_of.at[stack] == 0) {
		if (!allo_vec_append(&stacks->sites, &stack, 1))
			allo_fail_memory(err);
		else
			stacks->site_of.at[stack] = (uint32_t)(stacks->sites.len - 1);
	}
	return stacks->site_of.at[stack];
}

static bool add_backtrace(struct reader *reader, uint64_t id, struct allo_error *err)
{
	struct allo_rheaper_stacks *stacks = reader->stacks;
	const struct allo_rheaper_backtrace *known = allo_rheaper_stacks_find(stacks, id);
	struct allo_notes *notes = &reader->profile->notes;
	struct allo_rheaper_backtrace backtrace = { .id = id };

	backtrace.stack = allo_stack_build(&reader->builder, reader->profile, reader->frames.at,
					   reader->frames.len, err);
	if (allo_failed(err))
		return false;
	if (known) {
		if (known->stack != backtrace.stack)
			allo_note(notes, ALLO_NOTE_CLASHING_BACKTRACE, pos_of(reader, 1));
		return true;
	}
	allo_note_many(notes, ALLO_NOTE_NULL_FRAME, reader->nulls, pos_of(reader, 1));
	backtrace.site = site_of(stacks, backtrace.stack, err);
	if (allo_failed(err))
		return false;
	return (allo_vec_append(&stacks->backtraces, &backtrace, 1) &&
		allo_map_put(&stacks->map, allo_hash_pair(id, 0, stacks->seed),
			     (uint32_t)(stacks->backtraces.len - 1))) ||
	       allo_fail_memory(err);
}

static bool read_backtrace(struct reader *reader, struct allo_json *json, struct allo_error *err)
{
	bool has_frames = false, has_id = false, ok = true;
	struct allo_text key;
	uint64_t id = 0;

	reader->frames.len = 0;
	reader->nulls = 0;
	if (!allo_json_begin(json, '{', err))
		return false;
	while (ok && allo_json_key(json, &key, err)) {
		bool is_frames = allo_text_equal(key, ALLO_TEXT("frames"));
		bool is_id = allo_text_equal(key, ALLO_TEXT("id"));

		if ((is_frames && has_frames) || (is_id && has_id))
			return allo_fail(err, ALLO_FORMAT, allo_input_pos(json->in),
					 "the key \"%s\" appears twice", is_id ? "id" : "frames");
		has_frames |= is_frames;
		has_id |= is_id;
		ok = is_frames ? read_frames(reader, json, err)
		     : is_id   ? allo_json_u64(json, &id, err)
			       : allo_json_skip(json, err);
	}
	if (!ok || allo_failed(err) || !allo_json_end(json, err))
		return false;
	if (!has_frames || !has_id)
		return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .byte = 1 },
				 "the backtrace has no \"%s\"", has_id ? "frames" : "id");
	return add_backtrace(reader, id, err);
}

/* Reads a line; `is_last`: the file ends here, without a newline. */
static bool read_line(struct reader *reader, struct allo_text text, bool is_last,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };
	struct allo_error failure = { 0 };

	if (allo_text_trim(text).len == 0 ||
	    (allo_input_open_memory(&in, reader->files->name, text.data, text.len, &failure) &&
	     read_backtrace(reader, &json, &failure)))
		return true;
	if (failure.code == ALLO_FORMAT && is_last) {
		allo_note(&reader->profile->notes, ALLO_NOTE_CUT, pos_of(reader, 1));
		return true;
	}
	if (failure.code == ALLO_FORMAT)
		allo_hint(&failure, "delete this line to read the rest: the allocations of this "
				    "backtrace will have no stack");
	failure.pos = failure.code == ALLO_NOMEM ? ALLO_NOWHERE : pos_of(reader, failure.pos.byte);
	*err = failure;
	return false;
}

/* Files. */

/* Reads more bytes into the buffer. */
static bool read_more(struct reader *reader, struct allo_error *err)
{
	uint64_t left = reader->file->size - reader->read;
	size_t count, kept = reader->bytes.len - reader->used;

	ALLO_ASSERT(reader->read < reader->file->size && reader->used <= reader->bytes.len);
	if (kept >= ALLO_PIECE_MAX)
		return allo_fail(err, ALLO_LIMIT, pos_of(reader, 1), "a line is longer than %d MiB",
				 ALLO_PIECE_MAX >> 20);
	if (kept > 0)
		memmove(reader->bytes.at, reader->bytes.at + reader->used, kept);
	reader->bytes.len = kept;
	reader->used = 0;
	/* Double the size, so that a long line is not searched too often. */
	count = kept > READ_SIZE ? kept : READ_SIZE;
	if (count > ALLO_PIECE_MAX - kept)
		count = ALLO_PIECE_MAX - kept;
	count = left < count ? (size_t)left : count;
	if (!allo_vec_reserve(&reader->bytes, count))
		return allo_fail_memory(err);
	if (!allo_rheaper_read(reader->files, reader->file, reader->read, reader->bytes.at + kept,
			       count, err))
		return false;
	reader->bytes.len += count;
	reader->read += count;
	return true;
}

static bool read_file(struct reader *reader, const struct allo_rheaper_file *file,
		      struct allo_error *err)
{
	reader->file = file;
	reader->read = 0;
	reader->line = 1;
	reader->bytes.len = reader->used = 0;
	for (;;) {
		size_t left = reader->bytes.len - reader->used;
		const char *start = left > 0 ? reader->bytes.at + reader->used : "";
		const char *newline = left > 0 ? memchr(start, '\n', left) : NULL;
		bool is_last = !newline && reader->read == file->size;
		size_t len = newline ? (size_t)(newline - start) : left;

		if (!newline && !is_last) {
			if (!read_more(reader, err))
				return false;
			continue;
		}
		if (!read_line(reader, (struct allo_text){ start, len }, is_last, err))
			return false;
		if (is_last)
			return true;
		reader->used += len + 1;
		reader->line++;
	}
}

bool allo_rheaper_stacks_read(struct allo_rheaper_stacks *stacks, struct allo_rheaper_files *files,
			      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(reader_done)
	struct reader reader = { .stacks = stacks, .files = files, .profile = profile };

	stacks->seed = allo_hash_seed();
	if (!allo_vec_cover(&stacks->backtraces, 1) || !allo_vec_cover(&stacks->sites, 1))
		return allo_fail_memory(err);
	for (size_t i = 0; i < files->backtraces.files.len; i++) {
		if (!read_file(&reader, &files->backtraces.files.at[i], err))
			return false;
	}
	return true;
}

void allo_rheaper_stacks_done(struct allo_rheaper_stacks *stacks)
{
	allo_vec_done(&stacks->backtraces);
	allo_vec_done(&stacks->sites);
	allo_vec_done(&stacks->site_of);
	allo_map_done(&stacks->map);
}
