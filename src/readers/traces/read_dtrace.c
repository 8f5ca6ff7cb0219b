/*
 * read_dtrace.c - aggregations of stacks, as DTrace prints them.
 *
 * An entry is its keys, its frames with the leaf first, and a count:
 *
 *       648497479071750    31557             7001
 *                   libsystem_c.dylib`__sread+0x10
 *                   demo`main+0x1c
 *                     1
 *
 * Keys may also come after the stack, before the count.  There may be two stacks, the
 * kernel's and the program's, with a blank line between them.  Only a count ends an entry.
 */
#include "base/assert.h"
#include "base/defer.h"
#include "base/text_ids.h"
#include "base/utf8.h"
#include "readers/reader.h"
#include "readers/traces/dtrace_lines.h"
#include "readers/traces/symbol_function.h"
#include "readers/traces/trace_samples.h"

#include <stdio.h>

/* "0x1c", with lower-case digits. */
static bool parse_hex(struct allo_text text, uint64_t *number)
{
	return allo_text_skip(&text, ALLO_TEXT("0x")) && allo_text_hex(text, number);
}

/* "operator+" is a name, "main+0x1c" has an offset. */
static struct allo_text without_offset(struct allo_text text)
{
	struct allo_text before, offset;
	uint64_t ignored;

	return allo_text_cut_last(text, '+', &before, &offset) && parse_hex(offset, &ignored)
		       ? before
		       : text;
}

/*
 * Adds the frame of a text: "libc.so.1`malloc+0x1c", module and address, an address alone, or the
 * text of a language helper.  The offset is dropped.  0 when memory is short.
 */
static allo_frame_id make_frame(struct allo_profile *profile, struct allo_text text,
				const struct allo_trace_options *options, struct allo_error *err)
{
	struct allo_text place = without_offset(text), path, symbol;
	struct allo_frame frame = { 0 };
	struct allo_line line = { 0 };
	/* DTrace has resolved all symbols that it could. */
	struct allo_module module = { .has_functions = true };

	if (parse_hex(text, &frame.address))
		return allo_profile_add_frame(profile, &frame, NULL, 0, err);
	if (!allo_text_cut(place, '`', &path, &symbol) || path.len == 0 || symbol.len == 0)
		return allo_profile_add_named_frame(profile, text, err);
	module.path = allo_profile_add_string(profile, path, err);
	frame.module = allo_profile_add_module(profile, &module, err);
	if (allo_failed(err))
		return 0;
	if (parse_hex(symbol, &frame.address))
		return allo_profile_add_frame(profile, &frame, NULL, 0, err);
	line.function = options->drops_modules
				? allo_symbol_function(profile, options->namer, symbol,
						       (struct allo_text){ 0 }, err)
				: allo_symbol_function_in(profile, options->namer, path, symbol,
							  err);
	return line.function ? allo_profile_add_frame(profile, &frame, &line, 1, err) : 0;
}

/* Whether a frame belongs to a kernel, by the name of its module. */
static bool is_kernel(const struct allo_profile *profile, allo_frame_id id)
{
	static const char *const kernels[] = { "unix", "genunix", "kernel", "mach_kernel" };
	allo_module_id module = profile->frames.at[id].module;
	struct allo_text path;

	if (module == 0)
		return false;
	path = allo_profile_text(profile, profile->modules.at[module].path);
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		if (allo_text_equal(path, allo_text_of(kernels[i])))
			return true;
	}
	return allo_text_ends(path, ALLO_TEXT(".ko"));
}

enum { INDENT_MOST = 64 }; /* of frames on the fast path */

/* A single number before a stack: a key, or the count of an empty stack.  The next lines decide. */
struct pending {
	bool is_there;
	struct allo_dtrace_key key;
	unsigned blanks; /* lines before it */
};

struct dtrace {
	struct allo_input *in;
	const struct allo_read_options *options;
	bool is_looking; /* only looking at the columns */
	struct allo_dtrace_columns columns;
	struct allo_text_ids texts; /* of frames */
	struct allo_trace trace;

	/* The current entry. */
	ALLO_VEC(allo_frame_id) frames; /* the leaf first */
	size_t first_part;              /* frames of its first stack, if there is a second one */
	struct allo_trace_sample sample;
	size_t key_count;
	struct pending pending;

	/* The state of the scanner. */
	size_t indent;   /* of frames; 0: unknown */
	unsigned blanks; /* lines before this one */
	bool in_table;
	bool has_frames; /* some stack has a frame */
	uint64_t entries;
};

static void dtrace_done(struct dtrace *d)
{
	allo_dtrace_columns_done(&d->columns);
	allo_text_ids_done(&d->texts);
	allo_trace_done(&d->trace);
	allo_vec_done(&d->frames);
}

static struct allo_pos pos_of(const struct dtrace *d, struct allo_text line)
{
	return allo_input_pos_at(d->in, line.data);
}

static void clear_entry(struct dtrace *d)
{
	d->frames.len = d->first_part = d->key_count = 0;
	d->sample = (struct allo_trace_sample){ 0 };
	d->pending.is_there = false;
}

/* Frames. */

/* A position costs counting the lines before it: only the first of a kind is looked up. */
static void note(struct dtrace *d, enum allo_note kind, uint64_t count, struct allo_text at)
{
	struct allo_notes *notes = &d->trace.profile->notes;

	allo_note_many(notes, kind, count,
		       notes->of[kind].count == 0 ? pos_of(d, at) : ALLO_NOWHERE);
}

static allo_frame_id add_text(struct dtrace *d, struct allo_text text, struct allo_hash128 hash,
			      struct allo_error *err)
{
	allo_frame_id frame;

	if (memchr(text.data, '\0', text.len)) {
		allo_fail(err, ALLO_FORMAT, pos_of(d, text), "a name holds a NUL byte");
		return 0;
	}
	if (!allo_utf8_is_valid(text))
		note(d, ALLO_NOTE_BAD_UTF8, 1, text);
	frame = make_frame(d->trace.profile, text, &d->options->trace, err);
	if (frame && !allo_text_ids_put(&d->texts, hash, frame)) {
		allo_fail_memory(err);
		return 0;
	}
	return frame;
}

static inline bool add_frame(struct dtrace *d, struct allo_text text, struct allo_error *err)
{
	allo_frame_id frame = 0, *place;

	if (!d->is_looking) {
		struct allo_hash128 hash = allo_text_ids_hash(&d->texts, text);

		frame = allo_text_ids_find(&d->texts, hash);
		if (frame == 0 && (frame = add_text(d, text, hash, err)) == 0)
			return false;
	}
	place = allo_vec_push(&d->frames);
	if (!place)
		return allo_fail_memory(err);
	*place = frame;
	return true;
}

/* The annotation of a language helper is a call inside its frame. */
static bool add_annotation(struct dtrace *d, struct allo_text text, struct allo_error *err)
{
	size_t last;
	allo_frame_id frame;

	text = allo_text_trim((struct allo_text){ text.data + 1, text.len - 2 });
	if (text.len == 0)
		return true;
	if (!add_frame(d, text, err))
		return false;
	last = d->frames.len - 1;
	if (last > d->first_part) {
		frame = d->frames.at[last];
		d->frames.at[last] = d->frames.at[last - 1];
		d->frames.at[last - 1] = frame;
	}
	return true;
}

/* Keys. */

static bool take_key(struct dtrace *d, const struct allo_dtrace_key *key,
		     enum allo_dtrace_role role, struct allo_error *err)
{
	struct allo_trace_sample *sample = &d->sample;
	uint64_t number = key->is_negative ? 0 : key->number;

	switch (role) {
	case ALLO_DTRACE_TIME:
		sample->time_ns = number;
		sample->has_time = true;
		break;
	case ALLO_DTRACE_PID:
		sample->pid = number;
		sample->has_pid = true;
		break;
	case ALLO_DTRACE_TID:
		sample->tid = number;
		sample->has_tid = true;
		break;
	case ALLO_DTRACE_CPU:
		sample->cpu = number;
		sample->has_cpu = true;
		break;
	case ALLO_DTRACE_NAME:
		if (memchr(key->text.data, '\0', key->text.len))
			return allo_fail(err, ALLO_FORMAT, pos_of(d, key->text),
					 "a name holds a NUL byte");
		sample->name = allo_profile_add_string(d->trace.profile, key->text, err);
		break;
	case ALLO_DTRACE_UNSAID:
	case ALLO_DTRACE_IGNORED:
		break;
	}
	return !allo_failed(err);
}

static bool is_numeric(enum allo_dtrace_role role)
{
	return role == ALLO_DTRACE_TIME || role == ALLO_DTRACE_PID || role == ALLO_DTRACE_TID ||
	       role == ALLO_DTRACE_CPU;
}

/* Takes keys before or after the stack. */
static bool take_keys(struct dtrace *d, const struct allo_dtrace_key *keys, size_t count,
		      struct allo_error *err)
{
	bool is_behind = d->frames.len > 0;
	const enum allo_dtrace_role *roles;

	if (count == 0)
		return true;
	if (d->is_looking) {
		if (!allo_dtrace_columns_look(&d->columns, keys, count, d->key_count, is_behind))
			return allo_fail_memory(err);
	} else {
		roles = allo_dtrace_columns_roles(&d->columns, keys, count, d->key_count,
						  is_behind);
		if (!roles)
			return allo_fail_memory(err);
		for (size_t i = 0; i < count; i++) {
			if (is_numeric(roles[i]) && !keys[i].is_number)
				return allo_fail(err, ALLO_FORMAT, pos_of(d, keys[i].text),
						 "expected a number, found \"%.*s\"",
						 ALLO_TEXT_ARG(keys[i].text));
			if (!take_key(d, &keys[i], roles[i], err))
				return false;
		}
	}
	d->key_count += count;
	return true;
}

/* The lines before were no entry: keys of an aggregation without stacks, or a title. */
static void forget_keys(struct dtrace *d)
{
	d->key_count = 0;
	d->sample = (struct allo_trace_sample){ 0 };
}

static bool fail_fields(struct dtrace *d, struct allo_text line, size_t found,
			struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT, pos_of(d, line), "expected %zu field%s, found %zu in \"%.*s\"",
		  d->columns.field_count, d->columns.field_count == 1 ? "" : "s", found,
		  ALLO_TEXT_ARG(allo_text_trim(line)));
	return allo_hint(err, "--fields names the columns before each stack; - skips a column");
}

/* Keys before a stack. */
static bool take_leading(struct dtrace *d, struct allo_text line, struct allo_error *err)
{
	struct allo_dtrace_key keys[ALLO_DTRACE_KEYS];
	size_t count = allo_dtrace_split(line, keys);

	forget_keys(d);
	if (d->columns.has_fields && count != d->columns.field_count)
		count = allo_dtrace_split_words(line, keys);
	if (d->columns.has_fields && count > d->columns.field_count)
		return d->is_looking || fail_fields(d, line, count, err);
	return count > ALLO_DTRACE_KEYS || take_keys(d, keys, count, err);
}

/* Entries. */

/* Kernel frames are inside the program's, whichever stack is printed first. */
static bool put_kernel_inside(struct dtrace *d, struct allo_error *err)
{
	size_t first = d->first_part, count = d->frames.len;
	const struct allo_profile *profile = d->trace.profile;

	ALLO_ASSERT(first <= count);
	if (first == 0 || first == count || is_kernel(profile, d->frames.at[first - 1]) ||
	    !is_kernel(profile, d->frames.at[count - 1]))
		return true;
	if (!allo_vec_reserve(&d->frames, first))
		return allo_fail_memory(err);
	memcpy(d->frames.at + count, d->frames.at, first * sizeof(*d->frames.at));
	memmove(d->frames.at, d->frames.at + first, count * sizeof(*d->frames.at));
	return true;
}

/* A count: the entry is complete. */
static bool end_entry(struct dtrace *d, struct allo_text line, const struct allo_dtrace_key *count,
		      struct allo_error *err)
{
	bool ok = true;

	d->entries++;
	d->sample.count = count->number;
	if (d->is_looking || count->number == 0) {
		clear_entry(d);
		return true;
	}
	if (d->columns.has_fields && d->key_count != d->columns.field_count)
		return fail_fields(d, line, d->key_count, err);
	if (count->is_negative)
		note(d, ALLO_NOTE_NEGATIVE, 1, line);
	else
		ok = put_kernel_inside(d, err) &&
		     allo_trace_add(&d->trace, d->frames.at, d->frames.len, &d->sample, err);
	if (!ok)
		return allo_failed(err) ? false : allo_trace_fail_order(pos_of(d, line), err);
	clear_entry(d);
	return true;
}

/* Whether the pending number is the count of an empty stack, which prints as a blank line; one more
 * blank line precedes all aggregations. */
static bool is_pending_count(const struct dtrace *d)
{
	return !d->columns.has_fields && d->pending.blanks > (d->entries == 0);
}

static bool end_pending(struct dtrace *d, struct allo_text line, struct allo_error *err)
{
	struct allo_dtrace_key count = d->pending.key;

	d->pending.is_there = false;
	return end_entry(d, line, &count, err);
}

static bool take_pending_key(struct dtrace *d, struct allo_error *err)
{
	struct allo_dtrace_key key = d->pending.key;
	char digits[24];

	/* The window may have moved away from its text. */
	snprintf(digits, sizeof(digits), "%s%llu", key.is_negative ? "-" : "",
		 (unsigned long long)key.number);
	key.text = allo_text_of(digits);
	d->pending.is_there = false;
	forget_keys(d);
	return take_keys(d, &key, 1, err);
}

/* Lines. */

static bool take_frame(struct dtrace *d, struct allo_text text, struct allo_error *err)
{
	d->has_frames = true;
	return (!d->pending.is_there || take_pending_key(d, err)) && add_frame(d, text, err);
}

static bool take_blank(struct dtrace *d, struct allo_text line, struct allo_error *err)
{
	bool ok = true;

	d->in_table = false;
	if (d->pending.is_there)
		ok = is_pending_count(d) ? end_pending(d, line, err) : take_pending_key(d, err);
	d->first_part = d->frames.len;
	return ok;
}

/* Keys and a count after a stack. */
static bool take_trailing(struct dtrace *d, struct allo_text line, struct allo_error *err)
{
	struct allo_dtrace_key keys[ALLO_DTRACE_KEYS];
	size_t count = allo_dtrace_split(line, keys);

	if (count > ALLO_DTRACE_KEYS || !keys[count - 1].is_number)
		return d->is_looking ||
		       allo_fail(err, ALLO_FORMAT, pos_of(d, line),
				 "expected a frame or the count of a stack, found \"%.*s\"",
				 ALLO_TEXT_ARG(allo_text_trim(line)));
	return take_keys(d, keys, count - 1, err) && end_entry(d, line, &keys[count - 1], err);
}

static bool take_number(struct dtrace *d, struct allo_text line, const struct allo_dtrace_key *key,
			struct allo_error *err)
{
	if (d->frames.len > 0 || d->key_count > 0)
		return end_entry(d, line, key, err);
	if (d->pending.is_there && !is_pending_count(d))
		return take_pending_key(d, err) && end_entry(d, line, key, err);
	if (d->pending.is_there && !end_pending(d, line, err))
		return false;
	d->pending = (struct pending){ true, *key, d->blanks };
	return true;
}

static bool take_numbers(struct dtrace *d, struct allo_text line, struct allo_error *err)
{
	struct allo_dtrace_key keys[ALLO_DTRACE_KEYS];

	if (allo_dtrace_split(line, keys) == 1)
		return take_number(d, line, &keys[0], err);
	if (d->pending.is_there && !end_pending(d, line, err))
		return false;
	return d->frames.len > 0 ? take_trailing(d, line, err) : take_leading(d, line, err);
}

/* Keys with names among them, unless the line is not indented: then it is a title. */
static bool take_words(struct dtrace *d, struct allo_text line, struct allo_error *err)
{
	if (d->pending.is_there && !end_pending(d, line, err))
		return false;
	/* A key or a frame of a language helper, in a file that indents both by two columns: only
	 * keys come before the other frames, and a count is behind those after them. */
	if (d->frames.len > 0 && d->indent == ALLO_DTRACE_KEY_INDENT &&
	    allo_dtrace_indent(line) == d->indent && !allo_dtrace_ends_in_number(line))
		return take_frame(d, allo_text_trim(line), err);
	if (d->frames.len > 0)
		return take_trailing(d, line, err);
	if (!d->columns.has_fields && allo_dtrace_indent(line) == 0) {
		forget_keys(d);
		return true;
	}
	return take_leading(d, line, err);
}

static bool take_text(struct dtrace *d, struct allo_text line, enum allo_dtrace_line kind,
		      struct allo_error *err)
{
	struct allo_text text = allo_text_trim(line);

	switch (kind) {
	case ALLO_DTRACE_BLANK:
		return take_blank(d, line, err);
	case ALLO_DTRACE_TABLE:
		clear_entry(d);
		d->in_table = true;
		return true;
	case ALLO_DTRACE_FRAME:
		if (d->indent == 0 && allo_dtrace_is_plain(text))
			d->indent = allo_dtrace_indent(line);
		return take_frame(d, text, err);
	case ALLO_DTRACE_ANNOTATION:
		return add_annotation(d, text, err);
	case ALLO_DTRACE_NUMBERS:
		return take_numbers(d, line, err);
	case ALLO_DTRACE_WORDS:
		return take_words(d, line, err);
	case ALLO_DTRACE_NOTICE:
	case ALLO_DTRACE_PROBE:
		break;
	}
	return true;
}

static bool take_line(struct dtrace *d, struct allo_text line, struct allo_error *err)
{
	enum allo_dtrace_line kind;
	bool ok;

	while (line.len > 0 && allo_is_space(line.data[line.len - 1]))
		line.len--;
	kind = allo_dtrace_line_of(line, d->indent);
	/* Messages may come between any two lines. */
	if (kind == ALLO_DTRACE_NOTICE) {
		if (!d->is_looking)
			note(d, ALLO_NOTE_DROPS, allo_dtrace_drops(line), line);
		return true;
	}
	ok = (d->in_table && kind != ALLO_DTRACE_BLANK) || take_text(d, line, kind, err);
	d->blanks = kind == ALLO_DTRACE_BLANK ? d->blanks + 1 : 0;
	return ok;
}

/* The fast path for nearly all lines: a frame with the usual indentation. */
static inline bool is_usual_frame(const struct dtrace *d, struct allo_text line)
{
	static const char spaces[INDENT_MOST] = "                                "
						"                                ";
	size_t indent = d->indent;
	char first;

	if (indent <= ALLO_DTRACE_KEY_INDENT || indent > INDENT_MOST || line.len < indent + 2 ||
	    d->in_table || d->pending.is_there || memcmp(line.data, spaces, indent) != 0)
		return false;
	first = line.data[indent];
	if (allo_is_digit(first) && !(first == '0' && line.data[indent + 1] == 'x'))
		return false;
	return !allo_is_space(first) && first != '[' && !allo_is_space(line.data[line.len - 1]);
}

static bool read_lines(struct dtrace *d, struct allo_text text, uint64_t *line_count,
		       struct allo_error *err)
{
	while (text.len > 0) {
		const char *newline = memchr(text.data, '\n', text.len);
		struct allo_text line = { text.data,
					  newline ? (size_t)(newline - text.data) : text.len };
		bool ok;

		*line_count += newline != NULL;
		text = allo_text_from(text, line.len + (newline != NULL));
		if (is_usual_frame(d, line)) {
			d->blanks = 0;
			ok = add_frame(d, allo_text_from(line, d->indent), err);
		} else {
			ok = take_line(d, line, err);
		}
		if (!ok)
			return false;
	}
	return true;
}

/* All together. */

/* Scans the head of a file; the result must not depend on how the input arrives.  A file without
 * any other frames may have frames with the indentation of keys. */
static bool look_at(struct dtrace *looking, struct allo_text head, struct allo_error *err)
{
	struct allo_dtrace_columns fresh = looking->columns;
	const char *last;
	uint64_t lines = 0;

	if (head.len >= ALLO_HEAD_SIZE) {
		last = memrchr(head.data, '\n', ALLO_HEAD_SIZE);
		head.len = last ? (size_t)(last - head.data) : 0;
	}
	if (!read_lines(looking, head, &lines, err))
		return false;
	if (looking->indent > 0 || looking->has_frames)
		return true;
	dtrace_done(looking);
	*looking = (struct dtrace){ .is_looking = true,
				    .columns = fresh,
				    .indent = ALLO_DTRACE_KEY_INDENT };
	if (!read_lines(looking, head, &lines, err))
		return false;
	if (!looking->has_frames)
		looking->indent = 0;
	return true;
}

/* Guesses the columns and the indentation of frames from the head of the file. */
static bool look(struct dtrace *d, struct allo_error *err)
{
	ALLO_DEFER(dtrace_done)
	struct dtrace looking = { .is_looking = true, .columns = d->columns };
	struct allo_text head = { d->in->next, allo_input_unread(d->in) };
	bool ok = look_at(&looking, head, err);
	uint64_t time;

	if (allo_dtrace_columns_first_time(&looking.columns, &time))
		allo_trace_expect_times(&d->trace, time);
	d->columns = looking.columns;
	d->indent = looking.indent;
	looking.columns = (struct allo_dtrace_columns){ 0 };
	return ok;
}

static bool end(struct dtrace *d, struct allo_error *err)
{
	struct allo_text here = { d->in->next, 0 };

	/* After a signal the last entry is incomplete. */
	if (d->in->is_stopped)
		clear_entry(d);
	if (d->pending.is_there && !end_pending(d, here, err))
		return false;
	if (d->frames.len > 0)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(d->in),
				 "ends in the middle of a stack, before its count");
	if (d->entries == 0)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(d->in),
				 "has no stack with a count");
	allo_trace_end(&d->trace);
	return true;
}

static bool read_dtrace(struct allo_input *in, const struct allo_read_options *options,
			struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(dtrace_done) struct dtrace d = { .in = in, .options = options };
	struct allo_text text;

	allo_text_ids_init(&d.texts);
	if (!allo_trace_init(&d.trace, options, profile, err))
		return false;
	if (!allo_dtrace_columns_init(&d.columns, options->trace.fields))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--fields names more than %d fields", ALLO_DTRACE_KEYS);
	if (!look(&d, err))
		return false;
	while (allo_input_lines(in, &text, err)) {
		uint64_t line_count = 0;

		if (in->is_stopped && text.data[text.len - 1] != '\n')
			break;
		if (!read_lines(&d, text, &line_count, err))
			return false;
		allo_input_lines_counted(in, line_count);
	}
	return !allo_failed(err) && end(&d, err);
}

/* Accepts indented stacks with modules or addresses, and a count after one. */
static enum allo_guess probe_dtrace(struct allo_text head)
{
	ALLO_DEFER(dtrace_done) struct dtrace looking = { .is_looking = true };
	struct allo_error ignored = { 0 };

	if (memchr(head.data, '\0', head.len)) /* not text */
		return ALLO_NO;
	if (!look_at(&looking, head, &ignored) || looking.indent == 0 ||
	    (looking.entries == 0 && head.len < ALLO_HEAD_SIZE))
		return ALLO_NO;
	return looking.entries > 0 && looking.indent >= ALLO_DTRACE_INDENT ? ALLO_SURE : ALLO_MAYBE;
}

const struct allo_reader allo_read_dtrace = {
	.name = "dtrace",
	.title = "stack aggregations printed by DTrace",
	.about = "The output of dtrace for @[ustack()] = count() and similar aggregations, "
		 "with any keys before or after the stack. --fields names the keys; "
		 "without it, times, processes, threads, programs and CPUs are recognised "
		 "by their values. A time places its sample on the timeline. Without "
		 "times, the samples of a thread follow each other, each as long as its "
		 "count at the rate of --freq.\n\n"
		 "Kernel and user stacks are joined. Offsets within functions are dropped, "
		 "names are demangled, and --no-modules drops the module from names. "
		 "Messages of dtrace, lines of probes that fired, titles, aggregations "
		 "without stacks and distributions are skipped.",
	.probe = probe_dtrace,
	.read = read_dtrace,
	.has_times = true,
};
