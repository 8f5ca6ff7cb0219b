/*
 * filter.c - matches frames, then stacks, then samples.
 *
 * Patterns are matched once per frame.  A stack matches the patterns of its frame and of its
 * caller's stack, which comes before it.
 */
#include "analysis/filters/filter.h"

#include "analysis/sites/allocator.h"
#include "analysis/sites/startup.h"
#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

static void patterns_done(struct allo_patterns *patterns)
{
	for (size_t i = 0; i < patterns->count; i++)
		allo_pattern_done(&patterns->pattern[i]);
	patterns->count = 0;
}

void allo_filter_done(struct allo_filter *filter)
{
	patterns_done(&filter->focus);
	patterns_done(&filter->ignore);
	patterns_done(&filter->hide);
	patterns_done(&filter->show);
	allo_vec_done(&filter->fates);
	allo_vec_done(&filter->has_labels);
	allo_vec_done(&filter->innermost);
	allo_vec_done(&filter->became);
	allo_ownership_done(&filter->ownership);
}

void allo_filter_start_over(struct allo_filter *filter)
{
	filter->kept = filter->dropped = 0;
	filter->fates.len = filter->has_labels.len = filter->became.len = 0;
	allo_ownership_done(&filter->ownership);
}

bool allo_patterns_add(struct allo_patterns *patterns, const char *text, struct allo_error *err)
{
	if (patterns->count == ALLO_FILTER_PATTERNS)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "more than %d patterns for one option", ALLO_FILTER_PATTERNS);
	if (!allo_pattern_init(&patterns->pattern[patterns->count], text, err))
		return false;
	patterns->count++;
	return true;
}

static bool matches_any(struct allo_patterns *patterns, const struct allo_profile *profile,
			const struct allo_frame *frame, uint32_t call)
{
	for (size_t i = 0; i < patterns->count; i++) {
		if (allo_pattern_matches(&patterns->pattern[i], profile, frame, call))
			return true;
	}
	return false;
}

/* Frames. */

static bool is_hidden(struct allo_filter *filter, const struct allo_profile *profile,
		      const struct allo_frame *frame, uint32_t call)
{
	return matches_any(&filter->hide, profile, frame, call) ||
	       (filter->hide_libraries &&
		!allo_is_own_call(&filter->ownership, profile, frame, call)) ||
	       (filter->show.count > 0 && !matches_any(&filter->show, profile, frame, call));
}

static bool is_allocator_call(const struct allo_filter *filter, const struct allo_profile *profile,
			      const struct allo_frame *frame, uint32_t call)
{
	char scratch[ALLO_NAME_SCRATCH];

	return filter->trim_allocator &&
	       allo_is_allocator(allo_call_name(profile, frame, call, scratch),
				 allo_line_file(profile, allo_call_line(profile, frame, call)));
}

static uint32_t focus_of(struct allo_filter *filter, const struct allo_profile *profile,
			 const struct allo_frame *frame, uint32_t call)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < filter->focus.count; i++) {
		if (allo_pattern_matches(&filter->focus.pattern[i], profile, frame, call))
			bits |= 1u << i;
	}
	return bits;
}

static bool is_startup(const struct allo_filter *filter, const struct allo_profile *profile,
		       const struct allo_frame *frame, uint32_t call)
{
	char scratch[ALLO_NAME_SCRATCH];

	return filter->trim_startup &&
	       allo_is_startup(allo_call_name(profile, frame, call, scratch));
}

static bool is_border(const struct allo_filter *filter, const struct allo_profile *profile,
		      const struct allo_frame *frame, uint32_t call)
{
	char scratch[ALLO_NAME_SCRATCH];

	return filter->trim_startup &&
	       allo_is_startup_border(allo_call_name(profile, frame, call, scratch));
}

/* The visible calls of a frame, innermost first. */
struct calls {
	struct allo_line *lines;
	uint32_t count;
	uint32_t inner; /* number of the allocator's calls at the inner end */
	uint32_t outer; /* index of the first start-up call, if all callers are start-up code */
};

/* The frame with only some of its calls; 0 for none. */
static allo_frame_id with_calls(struct allo_profile *profile, allo_frame_id id,
				const struct calls *calls, uint32_t from, uint32_t to,
				struct allo_error *err)
{
	struct allo_frame frame = profile->frames.at[id];

	if (from >= to)
		return 0;
	if (to - from == allo_frame_call_count(&frame))
		return id;
	return allo_profile_add_frame(profile, &frame, calls->lines + from, to - from, err);
}

static bool judge_frame(struct allo_filter *filter, struct allo_profile *profile, allo_frame_id id,
			struct allo_frame_fate *fate, struct allo_error *err)
{
	const struct allo_frame frame = profile->frames.at[id];
	ALLO_DEFER(allo_free_pointer)
	struct allo_line *lines = malloc((frame.line_count + 1) * sizeof(*lines));
	struct calls calls = { .lines = lines };
	bool is_inner = true;

	if (!lines)
		return allo_fail_memory(err);
	for (uint32_t call = 0; call < allo_frame_call_count(&frame); call++) {
		fate->focus |= focus_of(filter, profile, &frame, call);
		fate->is_ignored |= matches_any(&filter->ignore, profile, &frame, call);
		if (is_hidden(filter, profile, &frame, call))
			continue;
		is_inner = is_inner && is_allocator_call(filter, profile, &frame, call);
		calls.inner += is_inner;
		calls.lines[calls.count++] = allo_call_line(profile, &frame, call);
		fate->is_border = fate->is_border || is_border(filter, profile, &frame, call);
		if (!fate->is_border && !is_startup(filter, profile, &frame, call))
			calls.outer = calls.count;
	}
	fate->kept.whole = with_calls(profile, id, &calls, 0, calls.count, err);
	fate->kept.as_leaf = with_calls(profile, id, &calls, calls.inner, calls.count, err);
	fate->as_root.whole = with_calls(profile, id, &calls, 0, calls.outer, err);
	fate->as_root.as_leaf = with_calls(profile, id, &calls, calls.inner, calls.outer, err);
	return !allo_failed(err);
}

static bool has_failed(const struct allo_patterns *patterns)
{
	for (size_t i = 0; i < patterns->count; i++) {
		if (patterns->pattern[i].has_failed)
			return true;
	}
	return false;
}

static bool judge_new_frames(struct allo_filter *filter, struct allo_profile *profile,
			     struct allo_error *err)
{
	/* This adds partial frames, which are matched as well: the next portion may contain an
	 * equal frame. */
	for (size_t id = filter->fates.len; id < profile->frames.len; id++) {
		struct allo_frame_fate fate = { 0 };

		if (id > 0 && !judge_frame(filter, profile, (allo_frame_id)id, &fate, err))
			return false;
		if (!allo_vec_add(&filter->fates, fate, err))
			return false;
	}
	if (has_failed(&filter->focus) || has_failed(&filter->ignore) ||
	    has_failed(&filter->hide) || has_failed(&filter->show))
		return allo_fail_memory(err);
	return true;
}

/* Labels. */

static bool judge_new_labels(struct allo_filter *filter, const struct allo_profile *profile,
			     struct allo_error *err)
{
	/* Set 0, "no labels", always exists. */
	for (size_t id = filter->has_labels.len; id == 0 || id < profile->label_sets.len; id++) {
		bool has = allo_label_filter_met(&filter->labels, profile, (allo_labels_id)id);

		if (!allo_vec_add(&filter->has_labels, has, err))
			return false;
	}
	return true;
}

/* Stacks. */

struct stack_fate {
	uint32_t focus;
	bool is_ignored;
	bool is_startup; /* all frames are start-up code */
	allo_stack_id kept, kept_as_leaf;
};

static allo_stack_id call_on(struct allo_profile *profile, allo_stack_id caller,
			     allo_frame_id frame, struct allo_error *err)
{
	return frame ? allo_profile_add_stack(profile, caller, frame, err) : caller;
}

static allo_stack_id as_leaf(struct allo_profile *profile, const struct stack_fate *caller,
			     const struct allo_kept_frame *frame, allo_stack_id kept,
			     struct allo_error *err)
{
	if (frame->as_leaf)
		return frame->as_leaf == frame->whole
			       ? kept
			       : call_on(profile, caller->kept, frame->as_leaf, err);
	/* If nothing is left of the leaf, its caller becomes the leaf. */
	return caller->kept_as_leaf ? caller->kept_as_leaf : kept;
}

static bool judge_stacks(const struct allo_filter *filter, struct allo_profile *profile,
			 const struct allo_profile *old, struct stack_fate *fates,
			 struct allo_error *err)
{
	fates[0].is_startup = filter->trim_startup;
	for (size_t i = 1; i < old->stacks.len; i++) {
		const struct stack_fate *caller = &fates[old->stacks.at[i].parent];
		const struct allo_frame_fate *frame = &filter->fates.at[old->stacks.at[i].frame];
		const struct allo_kept_frame *kept = &frame->kept;

		ALLO_ASSERT(old->stacks.at[i].parent < i);
		ALLO_ASSERT(old->stacks.at[i].frame < filter->fates.len);
		fates[i].focus = caller->focus | frame->focus;
		fates[i].is_ignored = caller->is_ignored | frame->is_ignored;
		if (caller->is_startup || frame->is_border) {
			/* A stack that would become empty stays as it is. */
			fates[i].is_startup = !frame->as_root.whole;
			if (frame->as_root.whole) {
				caller = &fates[0];
				kept = &frame->as_root;
			}
		}
		fates[i].kept = call_on(profile, caller->kept, kept->whole, err);
		fates[i].kept_as_leaf = as_leaf(profile, caller, kept, fates[i].kept, err);
		if (allo_failed(err))
			return false;
	}
	return true;
}

/* The innermost `stack_depth` frames of a stack. */
static allo_stack_id cut(struct allo_filter *filter, struct allo_profile *profile,
			 allo_stack_id stack, struct allo_error *err)
{
	allo_stack_id at = stack;

	if (filter->stack_depth == 0)
		return stack;
	filter->innermost.len = 0;
	for (; at && filter->innermost.len < filter->stack_depth;
	     at = profile->stacks.at[at].parent) {
		if (!allo_vec_add(&filter->innermost, profile->stacks.at[at].frame, err))
			return 0;
	}
	if (!at)
		return stack;
	stack = 0;
	for (size_t i = filter->innermost.len; i-- > 0;)
		stack = allo_profile_add_stack(profile, stack, filter->innermost.at[i], err);
	return stack;
}

/* Samples. */

/* Counts of single bytes do not add up: the blocks of two samples may differ in size. */
static void drop_accesses(struct allo_profile *profile, const uint64_t *row)
{
	size_t sample = (size_t)(row - profile->values.at) / profile->metrics.len;

	if (sample < profile->sample_accesses.len)
		profile->sample_accesses.at[sample].count = 0;
}

static bool keep_sample(struct allo_profile *profile, const struct allo_profile *old, size_t sample,
			allo_stack_id stack, struct allo_error *err)
{
	size_t width = profile->metrics.len;
	const uint64_t *values = old->values.at + sample * width;
	allo_labels_id labels = allo_profile_labels_of(old, sample);
	struct allo_accesses runs = allo_profile_accesses_of(old, sample);
	bool is_new = true;
	uint64_t *row = old->sample_times.len
				? allo_profile_add_timed_sample(profile, stack, labels,
								&old->sample_times.at[sample], err)
				: allo_profile_add_sample(profile, stack, labels, &is_new, err);

	if (!row)
		return false;
	for (size_t m = 0; m < width; m++) {
		size_t index = sample * width + m;

		allo_profile_add_value(profile, m, &row[m], values[m]);
		if (index < old->variances.len &&
		    !allo_profile_add_variance(profile, &row[m], old->variances.at[index], err))
			return false;
	}
	if (!is_new)
		drop_accesses(profile, row);
	return !is_new || runs.count == 0 ||
	       allo_profile_set_accesses(profile, old->access_runs.at + runs.first, runs.count,
					 err);
}

static bool is_kept(const struct allo_filter *filter, const struct stack_fate *fate)
{
	uint32_t all_focus = (uint32_t)((1ull << filter->focus.count) - 1);

	ALLO_ASSERT(filter->focus.count <= 32);
	return fate->focus == all_focus && !fate->is_ignored;
}

static bool tell_stacks(struct allo_filter *filter, struct allo_profile *profile,
			const struct stack_fate *fates, size_t count, struct allo_error *err)
{
	filter->became.len = 0;
	if (!allo_vec_extend(&filter->became, count, err))
		return false;
	for (size_t i = 0; i < count; i++)
		filter->became.at[i] = is_kept(filter, &fates[i])
					       ? cut(filter, profile, fates[i].kept_as_leaf, err)
					       : UINT32_MAX;
	return !allo_failed(err);
}

bool allo_filter_take(struct allo_filter *filter, struct allo_profile *profile,
		      const struct allo_profile *old, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	struct stack_fate *fates = calloc(old->stacks.len + 1, sizeof(*fates));

	if (!fates)
		return allo_fail_memory(err);
	if (!judge_new_frames(filter, profile, err) || !judge_new_labels(filter, profile, err) ||
	    !judge_stacks(filter, profile, old, fates, err))
		return false;
	if (filter->tells_stacks && !tell_stacks(filter, profile, fates, old->stacks.len + 1, err))
		return false;
	for (size_t i = 0; i < old->sample_stacks.len; i++) {
		const struct stack_fate *fate = &fates[old->sample_stacks.at[i]];
		bool keeps = is_kept(filter, fate) &&
			     filter->has_labels.at[allo_profile_labels_of(old, i)];

		filter->kept += keeps;
		filter->dropped += !keeps;
		if (keeps && !keep_sample(profile, old, i,
					  cut(filter, profile, fate->kept_as_leaf, err), err))
			return false;
	}
	return true;
}

bool allo_filter_apply(struct allo_filter *filter, struct allo_profile *profile,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile old = { 0 };

	allo_profile_move_samples(profile, &old);
	if (!allo_filter_take(filter, profile, &old, err))
		return false;
	/* The history covers all samples. */
	if (filter->dropped > 0)
		profile->history.len = 0;
	return true;
}
