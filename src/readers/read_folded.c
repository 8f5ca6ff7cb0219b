/*
 * read_folded.c - folded stacks, one per line, outermost caller first: "main;parse line;malloc
 * 4096".
 *
 * Files with one line per sample repeat few stacks many times: a cache of recent lines, keyed by
 * hash, finds their samples without looking at the stacks again.  Other files have millions of
 * lines that are nearly all different: folded_stacks.h is made for those.
 */
#include "base/defer.h"
#include "readers/folded_stacks.h"
#include "readers/reader.h"

#include <endian.h>
#include <stdlib.h>

enum {
	TOGETHER = ALLO_FOLDED_TOGETHER, /* lines added together */
	RECENT_WAYS = 4,                 /* recent lines that share a cache line */
	RECENT_FIRST = 1 << 6,           /* initial number of cache lines: a page */
	RECENT_MOST = 1 << 14,           /* a megabyte */
};

/* A line of the file: a stack and its count. */
struct line {
	struct allo_text stack;
	struct allo_hash128 hash;
	uint64_t before, count; /* `before` only in a differential file */
};

/* A recently seen stack. */
struct recent {
	uint64_t hash;
	uint32_t more_hash;
	uint32_t sample; /* its number, from 1; 0 for none */
};

struct folded {
	struct allo_input *in;
	struct allo_profile *profile;
	bool is_diff;
	struct allo_folded_stacks stacks;
	struct recent (*recent)[RECENT_WAYS]; /* by hash, the newest first */
	size_t recent_mask, recent_added;
	const struct allo_read_options *options;
	uint64_t line_count; /* of lines with a stack */
	struct allo_bad_parts skipped;
};

static void folded_done(struct folded *folded)
{
	allo_folded_stacks_done(&folded->stacks);
	free(folded->recent);
}

/* Counts. */

static void fail_line(const struct folded *folded, struct allo_text line, struct allo_error *err)
{
	struct allo_text stack, count;
	const char *at = allo_text_cut_last(line, ' ', &stack, &count) ? count.data : line.data;

	allo_fail(err, ALLO_FORMAT, allo_input_pos_at(folded->in, at),
		  "expected \"caller;callee count%s\", found \"%.*s\"",
		  folded->is_diff ? " count" : "", ALLO_TEXT_ARG(line));
}

static bool skip_line(struct folded *folded, struct allo_text line, struct allo_error *err)
{
	if (folded->skipped.count == 0)
		fail_line(folded, line, &folded->skipped.first);
	return allo_reader_skip(folded->options, &folded->skipped, folded->line_count,
				ALLO_NOTE_BAD_PART, &folded->profile->notes, err);
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

/* Takes a line off the head of a file; false after the last one, and for a line that is longer
 * than the head. */
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

/* Whether the lines of the head end in two counts, as in a differential file.  A single name that
 * ends in a number does not make it one, and one bad line in twenty does not make it another.  The
 * verdict must not depend on how the input arrives. */
static bool is_differential(struct allo_text head)
{
	enum { LINES_PER_BAD_ONE = 20 };
	bool is_rounded, is_whole = head.len < ALLO_HEAD_SIZE;
	size_t with_one = 0, with_two = 0;
	struct allo_text line;
	uint64_t count;

	if (!is_whole)
		head.len = ALLO_HEAD_SIZE;
	while (take_head_line(&head, is_whole, &line)) {
		line = allo_text_trim(line);
		if (line.len == 0 || line.data[0] == '#')
			continue;
		if (!take_count(&line, &count, &is_rounded))
			continue;
		if (take_count(&line, &count, &is_rounded))
			with_two++;
		else
			with_one++;
	}
	return with_two > 0 && with_one <= with_two / LINES_PER_BAD_ONE;
}

/* A position costs counting the lines before it: only the first of a kind is looked up. */
static void note(struct folded *folded, enum allo_note kind, const char *at)
{
	struct allo_notes *notes = &folded->profile->notes;

	allo_note(notes, kind,
		  notes->of[kind].count == 0 ? allo_input_pos_at(folded->in, at) : ALLO_NOWHERE);
}

/* Samples. */

static void add_saturating(struct folded *folded, uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum)) {
		*sum = UINT64_MAX;
		allo_note(&folded->profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	}
}

/* The number of a stack's sample, from 1; 0 for none. */
static uint32_t sample_of(const struct allo_profile *profile, allo_stack_id stack)
{
	return stack < profile->stack_samples.len ? profile->stack_samples.at[stack] : 0;
}

static struct recent *recent_of(const struct folded *folded, uint64_t hash)
{
	return folded->recent[hash & folded->recent_mask];
}

/* The number of a recent line's sample; 0 if the line is not in the cache. */
static inline uint32_t find_recent(const struct folded *folded, struct allo_hash128 hash)
{
	const struct recent *recent = recent_of(folded, hash.low);
	uint32_t more_hash = (uint32_t)(hash.high >> 32), sample = 0;

	/* Without branches: the CPU could not predict which entry matches. */
	for (unsigned i = 0; i < RECENT_WAYS; i++) {
		bool is_equal = (recent[i].hash == hash.low) & (recent[i].more_hash == more_hash);

		sample |= recent[i].sample & -(uint32_t)is_equal;
	}
	return sample;
}

static void put_recent(struct folded *folded, struct recent added)
{
	struct recent *recent = recent_of(folded, added.hash);

	memmove(recent + 1, recent, (RECENT_WAYS - 1) * sizeof(*recent));
	recent[0] = added;
}

/* Grows the cache after many misses. */
static bool grow_recent(struct folded *folded, struct allo_error *err)
{
	size_t old_count = folded->recent ? folded->recent_mask + 1 : 0;
	size_t count = old_count ? old_count * 4 : RECENT_FIRST;
	struct recent(*old)[RECENT_WAYS] = folded->recent;

	folded->recent = aligned_alloc(sizeof(*folded->recent), count * sizeof(*folded->recent));
	if (!folded->recent) {
		folded->recent = old;
		return allo_fail_memory(err);
	}
	memset(folded->recent, 0, count * sizeof(*folded->recent));
	folded->recent_mask = count - 1;
	for (size_t i = 0; i < old_count; i++) {
		for (unsigned way = RECENT_WAYS; way-- > 0;) {
			if (old[i][way].sample > 0)
				put_recent(folded, old[i][way]);
		}
	}
	free(old);
	folded->recent_added = 0;
	return true;
}

static bool add_recent(struct folded *folded, struct allo_hash128 hash, uint32_t sample,
		       struct allo_error *err)
{
	if (folded->recent_added++ > folded->recent_mask * 2 &&
	    folded->recent_mask + 1 < RECENT_MOST && !grow_recent(folded, err))
		return false;
	put_recent(folded, (struct recent){ hash.low, (uint32_t)(hash.high >> 32), sample });
	return true;
}

static uint64_t *row_of(const struct allo_profile *profile, uint32_t sample)
{
	return profile->values.at + (sample - 1) * profile->metrics.len;
}

static inline void add_counts(struct folded *folded, const struct line *line, uint32_t sample)
{
	size_t width = folded->profile->metrics.len;
	uint64_t *row = row_of(folded->profile, sample);

	add_saturating(folded, &row[width - 1], line->count);
	if (folded->is_diff)
		add_saturating(folded, &row[0], line->before);
}

static bool add_sample(struct folded *folded, const struct line *line, allo_stack_id stack,
		       struct allo_error *err)
{
	struct allo_profile *profile = folded->profile;

	if (sample_of(profile, stack) == 0 &&
	    !allo_profile_add_sample(profile, stack, 0, NULL, err))
		return false;
	add_counts(folded, line, sample_of(profile, stack));
	return add_recent(folded, line->hash, sample_of(profile, stack), err);
}

static bool add_lines(struct folded *folded, const struct line *lines, size_t count,
		      struct allo_error *err)
{
	struct allo_folded_text texts[TOGETHER];
	const struct line *others[TOGETHER];
	uint32_t samples[TOGETHER];
	size_t other_count = 0;

	folded->line_count += count;
	for (size_t i = 0; i < count; i++) {
		samples[i] = find_recent(folded, lines[i].hash);
		if (samples[i] > 0)
			__builtin_prefetch(row_of(folded->profile, samples[i]));
	}
	for (size_t i = 0; i < count; i++) {
		if (samples[i] > 0) {
			add_counts(folded, &lines[i], samples[i]);
			continue;
		}
		texts[other_count] = (struct allo_folded_text){ lines[i].stack, lines[i].hash, 0 };
		others[other_count++] = &lines[i];
	}
	if (!allo_folded_stacks_add(&folded->stacks, texts, other_count, err))
		return false;
	for (size_t i = 0; i < other_count; i++) {
		if (!add_sample(folded, others[i], texts[i].stack, err))
			return false;
	}
	return true;
}

/* Lines. */

/* Parses any line; `is_stack` is false for blank lines, comments and bad lines. */
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
	    (folded->is_diff && !take_count(&line->stack, &line->before, &is_rounded))) {
		*is_stack = false;
		return skip_line(folded, text, err);
	}
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

/* Most lines: up to seven digits, one space, and a stack in front of that.  All digits are parsed
 * at once, since the CPU cannot predict how many there are. */
static inline bool parse_plain_line(struct allo_text text, struct line *line)
{
	const char *end = text.data + text.len;
	uint64_t digits, others;
	unsigned count;

	if (text.len < 10)
		return false;
	memcpy(&digits, end - 8, 8);
	digits = le64toh(digits) ^ 0x3030303030303030;
	/* Digits are 0 to 9 now: this sets the high bit of all other bytes. */
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

/* heaptrack_print ends its stacks with a ';'. */
static inline struct allo_text without_separators(struct allo_text stack)
{
	while (stack.len > 0 && stack.data[stack.len - 1] == ';')
		stack.len--;
	return stack;
}

/* Reads and counts all lines of a piece of the file. */
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
		line->stack = without_separators(line->stack);
		line->hash = allo_folded_stacks_hash(&folded->stacks, line->stack);
		__builtin_prefetch(recent_of(folded, line->hash.low));
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

static bool read_folded(struct allo_input *in, const struct allo_read_options *options,
			struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(folded_done)
	struct folded folded = { .in = in, .profile = profile, .options = options };
	struct allo_text text;

	folded.stacks.in = in;
	folded.stacks.profile = profile;
	folded.is_diff = is_differential((struct allo_text){ in->next, allo_input_unread(in) });
	if (!add_metrics(&folded, err) || !allo_folded_stacks_init(&folded.stacks, err) ||
	    !grow_recent(&folded, err))
		return false;
	while (allo_input_lines(in, &text, err)) {
		uint64_t line_count = 0;

		if (!read_lines(&folded, text, &line_count, err))
			return false;
		allo_input_lines_counted(in, line_count);
	}
	return !allo_failed(err) && allo_bad_parts_check(&folded.skipped, folded.line_count, err);
}

/* The first lines of a file. */
struct first_lines {
	int stacks; /* lines that end in a number */
	int calls;  /* of them, those with a caller and a callee */
	int others;
};

static void look_at_line(struct first_lines *lines, struct allo_text line)
{
	bool is_rounded;
	uint64_t count;

	line = allo_text_trim(line);
	if (line.len == 0 || line.data[0] == '#')
		return;
	if (!take_count(&line, &count, &is_rounded) || line.len == 0) {
		lines->others++;
		return;
	}
	lines->stacks++;
	lines->calls += memchr(line.data, ';', line.len) != NULL;
}

/* Text whose first lines end in a number.  Nearly any text looks like that, so this is never more
 * than a guess, and other lines among them are accepted only if the stacks have callers. */
static enum allo_guess probe_folded(struct allo_text head)
{
	enum { ENOUGH = 5, MOST = 20 };
	struct allo_text line, rest = head;
	struct first_lines lines = { 0 };
	bool is_whole = head.len < ALLO_HEAD_SIZE;

	if (memchr(head.data, '\0', head.len))
		return ALLO_NO;
	for (int i = 0;
	     i < MOST && (i < ENOUGH || lines.others > 0) && take_head_line(&rest, is_whole, &line);
	     i++)
		look_at_line(&lines, line);
	if (lines.stacks + lines.others == 0 && !is_whole) /* one very deep stack, or markup */
		return memchr(head.data, ';', head.len) && !strchr("{[<", head.data[0]) ? ALLO_MAYBE
											: ALLO_NO;
	return lines.stacks > lines.others && (lines.others == 0 || lines.calls == lines.stacks)
		       ? ALLO_MAYBE
		       : ALLO_NO;
}

const struct allo_reader allo_read_folded = {
	.name = "folded",
	.title = "folded stacks, as used by flamegraph.pl",
	.about = "One stack per line: frames separated by semicolons, outermost caller "
		 "first, and a count at the end. Equal stacks are added up, lines that "
		 "start with # are skipped, and a file whose lines all end in two counts "
		 "is a comparison: before and after. Other lines are skipped and reported, "
		 "unless they are the majority; --strict refuses them.",
	.probe = probe_folded,
	.read = read_folded,
};
