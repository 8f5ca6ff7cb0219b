#include "analysis/filters/suppressions.h"

#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

void allo_suppressions_done(struct allo_suppressions *suppressions)
{
	allo_vec_done(&suppressions->list);
	allo_arena_done(&suppressions->arena);
}

static bool add(struct allo_suppressions *suppressions, struct allo_suppression suppression,
		struct allo_text pattern, struct allo_error *err)
{
	suppression.pattern.data = allo_arena_copy(&suppressions->arena, pattern.data, pattern.len);
	suppression.pattern.len = pattern.len;
	return (suppression.pattern.data &&
		allo_vec_append(&suppressions->list, &suppression, 1)) ||
	       allo_fail_memory(err);
}

/* Reading. */

static bool fail_line(const struct allo_input *in, uint64_t line, struct allo_text found,
		      struct allo_error *err)
{
	struct allo_pos pos = { .file = in->name, .line = line, .byte = 1 };

	allo_fail(err, ALLO_FORMAT, pos, "expected \"leak:PATTERN\", found \"%.*s\"",
		  ALLO_TEXT_ARG(found));
	return allo_hint(err, "write one suppression per line in LeakSanitizer's syntax, such as "
			      "leak:init_cache, with # in front of comments");
}

static bool add_line(struct allo_suppressions *suppressions, const struct allo_input *in,
		     uint64_t number, struct allo_text line, struct allo_error *err)
{
	struct allo_suppression suppression = { .file = in->name, .line = number };
	struct allo_text pattern = allo_text_trim(line);

	if (pattern.len == 0 || pattern.data[0] == '#')
		return true;
	if (!allo_text_skip(&pattern, ALLO_TEXT("leak:")))
		return fail_line(in, number, pattern, err);
	return add(suppressions, suppression, pattern, err);
}

bool allo_suppressions_add(struct allo_suppressions *suppressions, struct allo_text pattern,
			   struct allo_error *err)
{
	return add(suppressions, (struct allo_suppression){ 0 }, pattern, err);
}

bool allo_suppressions_read(struct allo_suppressions *suppressions, struct allo_input *in,
			    struct allo_error *err)
{
	struct allo_text line;

	for (uint64_t number = 1; allo_input_line(in, &line, err); number++) {
		if (!add_line(suppressions, in, number, line, err))
			return false;
	}
	return !allo_failed(err);
}

/* Matching. */

/* The text before the next special character. */
static struct allo_text take_piece(struct allo_text *pattern)
{
	struct allo_text piece = *pattern;
	size_t len = 0;

	while (len < pattern->len && pattern->data[len] != '*' && pattern->data[len] != '$')
		len++;
	piece.len = len;
	*pattern = allo_text_from(*pattern, len);
	return piece;
}

bool allo_suppression_matches(struct allo_text pattern, struct allo_text name)
{
	bool is_anchored, after_asterisk = false;

	if (name.len == 0)
		return false;
	is_anchored = allo_text_skip(&pattern, ALLO_TEXT("^"));
	while (pattern.len > 0) {
		struct allo_text piece;
		size_t at;

		if (allo_text_skip(&pattern, ALLO_TEXT("*"))) {
			is_anchored = false;
			after_asterisk = true;
			continue;
		}
		if (pattern.data[0] == '$')
			return name.len == 0 || after_asterisk;
		piece = take_piece(&pattern);
		at = allo_text_find(name, piece);
		if (at == (size_t)-1 || (is_anchored && at != 0))
			return false;
		name = allo_text_from(name, at + piece.len);
		is_anchored = after_asterisk = false;
	}
	return true;
}

/* The number of the first matching suppression, from 1; 0: none. */
static uint32_t find(const struct allo_suppressions *suppressions, struct allo_text name)
{
	for (size_t i = 0; i < suppressions->list.len; i++) {
		if (allo_suppression_matches(suppressions->list.at[i].pattern, name))
			return (uint32_t)i + 1;
	}
	return 0;
}

/* Matches the module first, then each function and its file, from the innermost. */
static uint32_t judge_frame(const struct allo_suppressions *suppressions,
			    const struct allo_profile *profile, const struct allo_frame *frame)
{
	uint32_t found = 0;

	if (frame->module)
		found = find(suppressions,
			     allo_profile_text(profile, profile->modules.at[frame->module].path));
	for (uint32_t i = 0; i < frame->line_count && found == 0; i++) {
		struct allo_line line = profile->lines.at[frame->first_line + i];

		found = find(suppressions,
			     allo_profile_text(profile, profile->functions.at[line.function].name));
		if (found == 0)
			found = find(suppressions, allo_line_file(profile, line));
	}
	return found;
}

static void judge_frames(const struct allo_suppressions *suppressions,
			 const struct allo_profile *profile, uint32_t *frames)
{
	for (size_t i = 1; i < profile->frames.len; i++)
		frames[i] = judge_frame(suppressions, profile, &profile->frames.at[i]);
}

bool allo_suppressions_judge(const struct allo_suppressions *suppressions,
			     const struct allo_profile *profile, const struct allo_profile *samples,
			     uint32_t *found, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	uint32_t *frames = calloc(profile->frames.len + 1, sizeof(*frames));

	if (!frames)
		return allo_fail_memory(err);
	judge_frames(suppressions, profile, frames);
	for (size_t i = 1; i < samples->stacks.len; i++) {
		const struct allo_stack *stack = &samples->stacks.at[i];

		found[i] = frames[stack->frame] ? frames[stack->frame] : found[stack->parent];
	}
	return true;
}

bool allo_suppressions_apply(struct allo_suppressions *suppressions, struct allo_profile *profile,
			     const struct allo_metric_columns *columns, struct allo_error *err)
{
	size_t count = allo_profile_sample_count(profile);
	ALLO_DEFER(allo_free_pointer)
	uint32_t *stacks = calloc(profile->stacks.len + 1, sizeof(*stacks));
	ALLO_DEFER(allo_free_pointer) bool *kept = calloc(count + 1, sizeof(*kept));

	if (!stacks || !kept)
		return allo_fail_memory(err);
	if (!allo_suppressions_judge(suppressions, profile, profile, stacks, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct allo_values values = allo_values_of(profile, columns, i);
		uint32_t number = stacks[profile->sample_stacks.at[i]];

		kept[i] = number == 0 || (values.value == 0 && values.blocks == 0);
		if (kept[i])
			continue;
		allo_values_add(&suppressions->list.at[number - 1].hidden, &values);
		suppressions->list.at[number - 1].stacks++;
	}
	allo_profile_keep_samples(profile, kept);
	return true;
}
