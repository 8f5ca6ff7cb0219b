/*
 * read_folded.c - folded stacks, one a line, outermost caller first: "main;parse line;malloc 4096".
 *
 * Files with a line for each sample repeat few stacks many times.  So lines are known by a hash of
 * their stack, and only the first of equals is taken apart.
 */
#include "base/defer.h"
#include "base/utf8.h"
#include "profile/stack_builder.h"
#include "readers/reader.h"

#include <endian.h>

enum {
	TOGETHER = 16,      /* lines whose stacks are looked up at once */
	IN_CACHE = 1 << 15, /* known lines that need not be asked for before */
};

/* A line of the file: a stack and how often it was seen. */
struct line {
	struct allo_text stack;
	struct allo_hash128 hash;
	uint64_t before, count; /* `before` only in a differential file */
};

/* A stack that has been seen. */
struct known_line {
	struct allo_hash128 hash;
	uint64_t before, count; /* summed up */
	uint32_t sample;
};

/* A frame's name, known by its hash, of which the map has one half. */
struct known_name {
	uint64_t hash;
	allo_frame_id frame;
};

struct folded {
	struct allo_input *in;
	struct allo_profile *profile;
	bool is_diff;
	struct allo_hasher hasher;
	struct allo_map line_map; /* indices of `lines` + 1 */
	ALLO_VEC(struct known_line) lines;
	struct allo_map name_map; /* indices of `names` + 1 */
	ALLO_VEC(struct known_name) names;
	struct allo_stack_builder builder;
};

static void folded_done(struct folded *folded)
{
	allo_map_done(&folded->line_map);
	allo_vec_done(&folded->lines);
	allo_map_done(&folded->name_map);
	allo_vec_done(&folded->names);
	allo_stack_builder_done(&folded->builder);
}

/* Counts. */

static bool fail_line(const struct folded *folded, struct allo_text line, struct allo_error *err)
{
	struct allo_text stack, count;
	const char *at = allo_text_cut_last(line, ' ', &stack, &count) ? count.data : line.data;

	return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(folded->in, at),
			 "expected \"caller;callee count%s\", found \"%.*s\"",
			 folded->is_diff ? " count" : "", ALLO_TEXT_ARG(line));
}

static bool is_digits(struct allo_text text)
{
	while (text.len > 0 && allo_is_digit(text.data[0]))
		text = allo_text_from(text, 1);
	return text.len == 0;
}

/* Takes " count" off the end of a line; a fraction is rounded. */
static bool take_count(struct allo_text *line, uint64_t *count, bool *is_rounded)
{
	struct allo_text rest, number, fraction;

	if (!allo_text_cut_last(*line, ' ', &rest, &number) &&
	    !allo_text_cut_last(*line, '\t', &rest, &number))
		return false;
	if (allo_text_cut(number, '.', &number, &fraction)) {
		if (!is_digits(fraction))
			return false;
		*is_rounded = true;
		if (!allo_text_u64(number, count))
			return false;
		*count += fraction.len > 0 && fraction.data[0] >= '5' && *count < UINT64_MAX;
	} else if (!allo_text_u64(number, count)) {
		return false;
	}
	while (rest.len > 0 && (rest.data[rest.len - 1] == ' ' || rest.data[rest.len - 1] == '\t'))
		rest.len--;
	*line = rest;
	return true;
}

/* Takes a line off the head of a file; false behind the last one, and at a line that goes on beyond
 * the head. */
static bool take_head_line(struct allo_text *head, bool is_whole, struct allo_text *line)
{
	if (allo_text_cut(*head, '\n', line, head))
		return true;
	if (!is_whole || head->len == 0)
		return false;
	*line = *head;
	head->len = 0;
	return true;
}

/* Whether every line of the head ends in two counts, as in a differential file.  A single name that
 * ends in a number does not make it one.  The head must not depend on how the input comes in. */
static bool is_differential(struct allo_text head)
{
	bool has_line = false, is_rounded, is_whole = head.len < ALLO_HEAD_SIZE;
	struct allo_text line;
	uint64_t count;

	if (!is_whole)
		head.len = ALLO_HEAD_SIZE;
	while (take_head_line(&head, is_whole, &line)) {
		line = allo_text_trim(line);
		if (line.len == 0 || line.data[0] == '#')
			continue;
		if (!take_count(&line, &count, &is_rounded) ||
		    !take_count(&line, &count, &is_rounded))
			return false;
		has_line = true;
	}
	return has_line;
}

/* A place costs counting the lines before it: only the first of a kind is looked up. */
static void note(struct folded *folded, enum allo_note kind, const char *at)
{
	struct allo_notes *notes = &folded->profile->notes;

	allo_note(notes, kind,
		  notes->of[kind].count == 0 ? allo_input_pos_at(folded->in, at) : ALLO_NOWHERE);
}

/* Stacks. */

static allo_frame_id add_name(struct folded *folded, struct allo_text name,
			      struct allo_hash128 hash, struct allo_error *err)
{
	struct known_name known = {
		.hash = hash.low,
		.frame = allo_profile_add_named_frame(folded->profile, name, err),
	};

	if (known.frame == 0)
		return 0;
	if (memchr(name.data, '\0', name.len)) {
		allo_fail(err, ALLO_FORMAT, allo_input_pos_at(folded->in, name.data),
			  "a name holds a NUL byte");
		return 0;
	}
	if (!allo_utf8_is_valid(name))
		note(folded, ALLO_NOTE_BAD_UTF8, name.data);
	if (!allo_vec_append(&folded->names, &known, 1) ||
	    !allo_map_put(&folded->name_map, hash.high, (uint32_t)folded->names.len)) {
		allo_fail_memory(err);
		return 0;
	}
	return known.frame;
}

static allo_frame_id frame_of(struct folded *folded, struct allo_text name, struct allo_error *err)
{
	struct allo_hash128 hash = allo_hasher_hash(&folded->hasher, name.data, name.len);
	struct allo_probe probe = allo_map_probe(&folded->name_map, hash.high);
	uint32_t number;

	while ((number = allo_map_next(&folded->name_map, &probe)) != 0) {
		if (folded->names.at[number - 1].hash == hash.low)
			return folded->names.at[number - 1].frame;
	}
	return add_name(folded, name, hash, err);
}

static allo_stack_id stack_of(struct folded *folded, struct allo_text frames,
			      struct allo_error *err)
{
	struct allo_text name;

	allo_stack_builder_begin(&folded->builder);
	while (allo_text_next(&frames, ';', &name)) {
		allo_frame_id frame;

		if (name.len == 0) /* heaptrack_print ends its stacks with a ';' */
			continue;
		frame = frame_of(folded, name, err);
		if (frame == 0 || !allo_stack_builder_add(&folded->builder, frame, err))
			return 0;
	}
	return allo_stack_builder_end(&folded->builder, folded->profile, err);
}

/* The first line with this stack. */
static bool add_known(struct folded *folded, const struct line *line, struct allo_error *err)
{
	struct allo_profile *profile = folded->profile;
	allo_stack_id stack = stack_of(folded, line->stack, err);
	const uint64_t *row = allo_profile_add_sample(profile, stack, 0, NULL, err);
	struct known_line known = { line->hash, line->before, line->count, 0 };

	if (!row)
		return false;
	known.sample = (uint32_t)((size_t)(row - profile->values.at) / profile->metrics.len);
	if (!allo_vec_append(&folded->lines, &known, 1) ||
	    !allo_map_put(&folded->line_map, line->hash.high, (uint32_t)folded->lines.len))
		return allo_fail_memory(err);
	return true;
}

static void add_saturating(struct folded *folded, uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum)) {
		*sum = UINT64_MAX;
		allo_note(&folded->profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	}
}

static struct known_line *find_known(struct folded *folded, const struct line *line)
{
	struct allo_probe probe = allo_map_probe(&folded->line_map, line->hash.high);
	uint32_t number;

	while ((number = allo_map_next(&folded->line_map, &probe)) != 0) {
		struct known_line *known = &folded->lines.at[number - 1];

		if (known->hash.low == line->hash.low && known->hash.high == line->hash.high)
			return known;
	}
	return NULL;
}

/* The memory that finding a line will need is asked for well before: in a large file, waiting for
 * it is most of the work. */
static void fetch_known(const struct folded *folded, const struct line *line)
{
	struct allo_probe probe = allo_map_probe(&folded->line_map, line->hash.high);
	uint32_t number = allo_map_next(&folded->line_map, &probe);

	if (number > 0)
		__builtin_prefetch(&folded->lines.at[number - 1]);
}

static bool add_lines(struct folded *folded, const struct line *lines, size_t count,
		      struct allo_error *err)
{
	for (size_t i = 0; i < count && folded->lines.len > IN_CACHE; i++)
		fetch_known(folded, &lines[i]);
	for (size_t i = 0; i < count; i++) {
		struct known_line *known = find_known(folded, &lines[i]);

		if (known) {
			add_saturating(folded, &known->count, lines[i].count);
			if (folded->is_diff)
				add_saturating(folded, &known->before, lines[i].before);
		} else if (!add_known(folded, &lines[i], err)) {
			return false;
		}
	}
	return true;
}

/* Lines. */

/* Any line; `is_stack` is false for blank ones and comments. */
static bool parse_line(struct folded *folded, struct allo_text text, struct line *line,
		       bool *is_stack, struct allo_error *err)
{
	bool is_rounded = false;

	line->stack = allo_text_trim(text);
	line->before = 0;
	*is_stack = line->stack.len > 0 && line->stack.data[0] != '#';
	if (!*is_stack)
		return true;
	if (!take_count(&line->stack, &line->count, &is_rounded) ||
	    (folded->is_diff && !take_count(&line->stack, &line->before, &is_rounded)))
		return fail_line(folded, text, err);
	if (is_rounded)
		note(folded, ALLO_NOTE_FRACTION, text.data);
	return true;
}

/* Eight digits of a byte each, the most significant lowest: pairs of them, then fours, then all. */
static inline uint64_t join_digits(uint64_t digits)
{
	digits = digits * 10 + (digits >> 8);
	return ((digits & 0x000000ff000000ff) * (100 + (1000000ull << 32)) +
		(digits >> 16 & 0x000000ff000000ff) * (1 + (10000ull << 32))) >>
	       32;
}

/* Most lines: up to seven digits, one space, and a stack in front of that.  The digits are looked
 * at all at once: how many there are cannot be foreseen. */
static inline bool parse_plain_line(struct allo_text text, struct line *line)
{
	const char *end = text.data + text.len;
	uint64_t digits, others;
	unsigned count;

	if (text.len < 10)
		return false;
	memcpy(&digits, end - 8, 8);
	digits = le64toh(digits) ^ 0x3030303030303030;
	/* Digits are 0 to 9 now: the high bit of everything else. */
	others = (((digits & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676) | digits) &
		 0x8080808080808080;
	if (others == 0)
		return false;
	count = (unsigned)__builtin_clzll(others) / 8;
	if (count == 0 || end[-1 - (int)count] != ' ' || allo_is_space(end[-2 - (int)count]) ||
	    allo_is_space(text.data[0]) || text.data[0] == '#')
		return false;
	line->stack = (struct allo_text){ text.data, text.len - 1 - count };
	line->count = join_digits(digits & ~0ull << (64 - 8 * count));
	line->before = 0;
	return true;
}

/* All lines of a stretch of the file; counts them. */
static bool read_lines(struct folded *folded, struct allo_text text, uint64_t *line_count,
		       struct allo_error *err)
{
	struct line lines[TOGETHER];
	size_t used = 0;

	while (text.len > 0) {
		struct line *line = &lines[used];
		const char *newline = memchr(text.data, '\n', text.len);
		struct allo_text one = { text.data,
					 newline ? (size_t)(newline - text.data) : text.len };
		bool is_stack = true;

		*line_count += newline != NULL;
		text = allo_text_from(text, one.len + (newline != NULL));
		if ((folded->is_diff || !parse_plain_line(one, line)) &&
		    !parse_line(folded, one, line, &is_stack, err))
			return false;
		if (!is_stack)
			continue;
		line->hash = allo_hasher_hash(&folded->hasher, line->stack.data, line->stack.len);
		allo_map_fetch(&folded->line_map, line->hash.high);
		if (++used == TOGETHER) {
			if (!add_lines(folded, lines, used, err))
				return false;
			used = 0;
		}
	}
	return add_lines(folded, lines, used, err);
}

static bool add_metrics(struct folded *folded, struct allo_error *err)
{
	struct allo_profile *profile = folded->profile;
	struct allo_metric metric = {
		.name = allo_profile_add_string(profile, ALLO_TEXT("samples"), err),
		.unit = allo_profile_add_string(profile, ALLO_TEXT("count"), err),
		.is_before = folded->is_diff,
	};

	if (allo_failed(err) || !allo_profile_add_metric_like(profile, &metric, err))
		return false;
	if (!folded->is_diff)
		return true;
	metric.is_before = false;
	return allo_profile_add_metric_like(profile, &metric, err);
}

static void set_values(struct folded *folded)
{
	struct allo_profile *profile = folded->profile;
	size_t width = profile->metrics.len;

	for (size_t i = 0; i < folded->lines.len; i++) {
		const struct known_line *known = &folded->lines.at[i];
		uint64_t *row = profile->values.at + known->sample * width;

		if (folded->is_diff)
			allo_profile_add_value(profile, 0, &row[0], known->before);
		allo_profile_add_value(profile, width - 1, &row[width - 1], known->count);
	}
}

static bool read_folded(struct allo_input *in, const struct allo_read_options *options,
			struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(folded_done) struct folded folded = { .in = in, .profile = profile };
	struct allo_text text;

	(void)options;
	allo_hasher_init(&folded.hasher);
	folded.is_diff = is_differential((struct allo_text){ in->next, allo_input_unread(in) });
	if (!add_metrics(&folded, err))
		return false;
	while (allo_input_lines(in, &text, err)) {
		uint64_t line_count = 0;

		if (!read_lines(&folded, text, &line_count, err))
			return false;
		allo_input_lines_counted(in, line_count);
	}
	set_values(&folded);
	return !allo_failed(err);
}

/* Text whose first lines end in a number.  Anything has been taken for folded stacks at some time,
 * so this is never more than a guess. */
static enum allo_guess probe_folded(struct allo_text head)
{
	struct allo_text line, rest = head;
	bool has_line = false, is_rounded, is_whole = head.len < ALLO_HEAD_SIZE;
	uint64_t count;

	if (memchr(head.data, '\0', head.len))
		return ALLO_NO;
	for (int i = 0; i < 5 && take_head_line(&rest, is_whole, &line); i++) {
		line = allo_text_trim(line);
		if (line.len == 0 || line.data[0] == '#')
			continue;
		if (!take_count(&line, &count, &is_rounded) || line.len == 0)
			return ALLO_NO;
		has_line = true;
	}
	if (!has_line && !is_whole) /* one very deep stack, unless it is markup of some kind */
		has_line = memchr(head.data, ';', head.len) && !strchr("{[<", head.data[0]);
	return has_line ? ALLO_MAYBE : ALLO_NO;
}

const struct allo_reader allo_read_folded = {
	.name = "folded",
	.title = "folded stacks, as flamegraph.pl and its collapsing scripts use them",
	.about = "One stack a line, the outermost caller first, frames separated by semicolons, a "
		 "count at the end. Equal stacks are added up, lines that start with # are "
		 "skipped, and a file whose lines all end in two counts is a comparison: before "
		 "and after.",
	.probe = probe_folded,
	.read = read_folded,
};
