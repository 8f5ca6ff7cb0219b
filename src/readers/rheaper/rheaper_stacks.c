/* rheaper_stacks.c - see rheaper_stacks.h. */
#include "readers/rheaper/rheaper_stacks.h"

#include "base/defer.h"
#include "base/json_read.h"
#include "base/utf8.h"

/* At least so many bytes are read at once. */
enum { READ_SIZE = 256 << 10 };

struct reading {
	struct allo_rheaper_stacks *stacks;
	struct allo_rheaper_files *files;
	struct allo_profile *profile;
	struct allo_stack_builder builder;
	ALLO_VEC(allo_frame_id) frames; /* of the backtrace at hand, leaf first */
	uint64_t nulls;                 /* among them */
	/* The file at hand. */
	const struct allo_rheaper_file *file;
	uint64_t read, line;  /* bytes read, lines begun */
	ALLO_VEC(char) bytes; /* read, of which the first `used` are lines that are done */
	size_t used;
};

static void reading_done(struct reading *reading)
{
	allo_stack_builder_done(&reading->builder);
	allo_vec_done(&reading->frames);
	allo_vec_done(&reading->bytes);
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

/* In the line at hand. */
static struct allo_pos pos_of(const struct reading *reading, uint64_t byte)
{
	return allo_rheaper_pos(reading->files, reading->file, reading->line, byte);
}

/* Frames. */

static bool next_is_null(struct allo_json *json, struct allo_error *err)
{
	return allo_json_peek(json, err) == 'n';
}

/* A text of the profile, or none where the file has null. */
static bool read_text(struct reading *reading, struct allo_json *json, bool is_symbol,
		      allo_string_id *string, struct allo_error *err)
{
	struct allo_text text;

	if (next_is_null(json, err))
		return allo_json_skip(json, err);
	if (!allo_json_string(json, &text, err))
		return false;
	if (!allo_utf8_is_valid(text))
		allo_note(&reading->profile->notes, ALLO_NOTE_BAD_UTF8, pos_of(reading, 1));
	if (is_symbol)
		text = allo_without_rust_hash(text);
	*string = allo_profile_add_string(reading->profile, text, err);
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

static bool read_frame(struct reading *reading, struct allo_json *json, allo_frame_id *id,
		       struct allo_error *err)
{
	struct allo_function function = { 0 };
	struct allo_line line = { 0 };
	struct allo_frame frame = { 0 };
	struct allo_text key;
	bool ok = true;

	if (next_is_null(json, err)) {
		reading->nulls++;
		ok = allo_json_skip(json, err);
	} else if (allo_json_begin(json, '{', err)) {
		while (ok && allo_json_key(json, &key, err)) {
			if (allo_text_equal(key, ALLO_TEXT("sym_name")))
				ok = read_text(reading, json, true, &function.name, err);
			else if (allo_text_equal(key, ALLO_TEXT("file")))
				ok = read_text(reading, json, false, &function.file, err);
			else if (allo_text_equal(key, ALLO_TEXT("lineno")))
				ok = read_line_number(json, &line, err);
			else
				ok = allo_json_skip(json, err);
		}
	}
	if (!ok || allo_failed(err))
		return false;
	if (function.name || function.file)
		line.function = allo_profile_add_function(reading->profile, &function, err);
	*id = allo_profile_add_frame(reading->profile, &frame, &line, line.function ? 1 : 0, err);
	return *id != 0 && !allo_failed(err);
}

static bool read_frames(struct reading *reading, struct allo_json *json, struct allo_error *err)
{
	if (!allo_json_begin(json, '[', err))
		return false;
	while (allo_json_item(json, err)) {
		allo_frame_id frame;

		if (!read_frame(reading, json, &frame, err))
			return false;
		if (!allo_vec_append(&reading->frames, &frame, 1))
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

static bool add_backtrace(struct reading *reading, uint64_t id, struct allo_error *err)
{
	struct allo_rheaper_stacks *stacks = reading->stacks;
	const struct allo_rheaper_backtrace *known = allo_rheaper_stacks_find(stacks, id);
	struct allo_notes *notes = &reading->profile->notes;
	struct allo_rheaper_backtrace backtrace = { .id = id };

	backtrace.stack = allo_stack_build(&reading->builder, reading->profile, reading->frames.at,
					   reading->frames.len, err);
	if (allo_failed(err))
		return false;
	if (known) {
		if (known->stack != backtrace.stack)
			allo_note(notes, ALLO_NOTE_CLASHING_BACKTRACE, pos_of(reading, 1));
		return true;
	}
	allo_note_many(notes, ALLO_NOTE_NULL_FRAME, reading->nulls, pos_of(reading, 1));
	backtrace.site = site_of(stacks, backtrace.stack, err);
	if (allo_failed(err))
		return false;
	return (allo_vec_append(&stacks->backtraces, &backtrace, 1) &&
		allo_map_put(&stacks->map, allo_hash_pair(id, 0, stacks->seed),
			     (uint32_t)(stacks->backtraces.len - 1))) ||
	       allo_fail_memory(err);
}

static bool read_backtrace(struct reading *reading, struct allo_json *json, struct allo_error *err)
{
	bool has_frames = false, has_id = false, ok = true;
	struct allo_text key;
	uint64_t id = 0;

	reading->frames.len = 0;
	reading->nulls = 0;
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
		ok = is_frames ? read_frames(reading, json, err)
		     : is_id   ? allo_json_u64(json, &id, err)
			       : allo_json_skip(json, err);
	}
	if (!ok || allo_failed(err) || !allo_json_end(json, err))
		return false;
	if (!has_frames || !has_id)
		return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .byte = 1 },
				 "the backtrace has no \"%s\"", has_id ? "frames" : "id");
	return add_backtrace(reading, id, err);
}

/* Reads a line; `is_last` tells that the file ends without an end of the line. */
static bool read_line(struct reading *reading, struct allo_text text, bool is_last,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };
	struct allo_error failure = { 0 };

	if (allo_text_trim(text).len == 0 ||
	    (allo_input_open_memory(&in, reading->files->name, text.data, text.len, &failure) &&
	     read_backtrace(reading, &json, &failure)))
		return true;
	if (failure.code == ALLO_FORMAT && is_last) {
		allo_note(&reading->profile->notes, ALLO_NOTE_CUT, pos_of(reading, 1));
		return true;
	}
	if (failure.code == ALLO_FORMAT)
		allo_hint(&failure, "without this line it can be read: allocations of this "
				    "backtrace stand without a stack then");
	failure.pos = failure.code == ALLO_NOMEM ? ALLO_NOWHERE : pos_of(reading, failure.pos.byte);
	*err = failure;
	return false;
}

/* Files. */

/* Reads on, so that there are more bytes than before. */
static bool read_more(struct reading *reading, struct allo_error *err)
{
	uint64_t left = reading->file->size - reading->read;
	size_t count, kept = reading->bytes.len - reading->used;

	if (kept >= ALLO_PIECE_MAX)
		return allo_fail(err, ALLO_LIMIT, pos_of(reading, 1),
				 "a line is longer than %d MiB", ALLO_PIECE_MAX >> 20);
	if (kept > 0)
		memmove(reading->bytes.at, reading->bytes.at + reading->used, kept);
	reading->bytes.len = kept;
	reading->used = 0;
	/* As much as there is already: a long line is not looked at too often. */
	count = kept > READ_SIZE ? kept : READ_SIZE;
	if (count > ALLO_PIECE_MAX - kept)
		count = ALLO_PIECE_MAX - kept;
	count = left < count ? (size_t)left : count;
	if (!allo_vec_reserve(&reading->bytes, count))
		return allo_fail_memory(err);
	if (!allo_rheaper_read(reading->files, reading->file, reading->read,
			       reading->bytes.at + kept, count, err))
		return false;
	reading->bytes.len += count;
	reading->read += count;
	return true;
}

static bool read_file(struct reading *reading, const struct allo_rheaper_file *file,
		      struct allo_error *err)
{
	reading->file = file;
	reading->read = 0;
	reading->line = 1;
	reading->bytes.len = reading->used = 0;
	for (;;) {
		size_t left = reading->bytes.len - reading->used;
		const char *start = left > 0 ? reading->bytes.at + reading->used : "";
		const char *newline = left > 0 ? memchr(start, '\n', left) : NULL;
		bool is_last = !newline && reading->read == file->size;
		size_t len = newline ? (size_t)(newline - start) : left;

		if (!newline && !is_last) {
			if (!read_more(reading, err))
				return false;
			continue;
		}
		if (!read_line(reading, (struct allo_text){ start, len }, is_last, err))
			return false;
		if (is_last)
			return true;
		reading->used += len + 1;
		reading->line++;
	}
}

bool allo_rheaper_stacks_read(struct allo_rheaper_stacks *stacks, struct allo_rheaper_files *files,
			      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(reading_done)
	struct reading reading = { .stacks = stacks, .files = files, .profile = profile };

	stacks->seed = allo_hash_seed();
	if (!allo_vec_cover(&stacks->backtraces, 1) || !allo_vec_cover(&stacks->sites, 1))
		return allo_fail_memory(err);
	for (size_t i = 0; i < files->backtraces.files.len; i++) {
		if (!read_file(&reading, &files->backtraces.files.at[i], err))
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
