/*
 * filter.h - removes samples and frames from a profile.
 */
#ifndef ALLO_ANALYSIS_FILTER_H
#define ALLO_ANALYSIS_FILTER_H

#include "analysis/filters/label_filter.h"
#include "analysis/filters/pattern.h"
#include "analysis/sites/ownership.h"

enum { ALLO_FILTER_PATTERNS = 16 };

struct allo_patterns {
	struct allo_pattern pattern[ALLO_FILTER_PATTERNS];
	size_t count;
};

/* The rest of a frame: itself, a part of it, or 0 for nothing. */
struct allo_kept_frame {
	allo_frame_id whole;   /* without hidden calls */
	allo_frame_id as_leaf; /* and without the allocator's calls at the inner end */
};

struct allo_frame_fate {
	uint32_t focus; /* bits of the matching focus patterns */
	bool is_ignored;
	bool is_border; /* all its callers are start-up code */
	struct allo_kept_frame kept;
	struct allo_kept_frame as_root; /* and without start-up code at the outer end */
};

/* All zeros changes nothing. */
struct allo_filter {
	struct allo_patterns focus;      /* keeps samples whose stacks match all of these */
	struct allo_patterns ignore;     /* drops samples whose stacks match any of these */
	struct allo_patterns hide;       /* removes frames that match any of these */
	struct allo_patterns show;       /* removes frames that match none of these */
	struct allo_label_filter labels; /* keeps samples that have all of these */
	bool hide_libraries;             /* removes frames that are not own code */
	bool trim_allocator;             /* removes malloc() and wrappers at the inner end */
	bool trim_startup;               /* removes _start() and the like at the outer end */
	uint64_t stack_depth;            /* number of innermost frames to keep; 0: all */

	uint64_t kept, dropped; /* samples so far */

	/* Maps each stack with samples to its new stack, or to UINT32_MAX when its samples were
	 * dropped; for callers that keep data by stack. */
	bool tells_stacks;
	ALLO_VEC(allo_stack_id) became; /* of the last portion; only if requested */

	/* Private: results for the frames and labels of earlier portions. */
	ALLO_VEC(struct allo_frame_fate) fates; /* by frame */
	ALLO_VEC(bool) has_labels;              /* by label set: it has all of `labels` */
	ALLO_VEC(allo_frame_id) innermost;      /* scratch */
	struct allo_ownership ownership;
};

void allo_filter_done(struct allo_filter *filter);

/* Forgets the profile, so that the filter can serve another one. */
void allo_filter_start_over(struct allo_filter *filter);

bool allo_patterns_add(struct allo_patterns *patterns, const char *text, struct allo_error *err);

/* Whether the filter may remove frames, so that stacks may become equal. */
static inline bool allo_filter_joins(const struct allo_filter *filter)
{
	return filter->hide.count || filter->show.count || filter->hide_libraries ||
	       filter->trim_allocator || filter->trim_startup || filter->stack_depth;
}

static inline bool allo_filter_is_empty(const struct allo_filter *filter)
{
	return !filter->focus.count && !filter->ignore.count && !filter->labels.count &&
	       !allo_filter_joins(filter);
}

/* Filters a profile, or a portion of it.  Samples whose stacks become equal are merged.  A filter
 * serves one profile. */
bool allo_filter_apply(struct allo_filter *filter, struct allo_profile *profile,
		       struct allo_error *err);

/* The same for samples and stacks that allo_profile_move_samples() has moved to `old`, where they
 * stay.  The result goes to `profile`. */
bool allo_filter_take(struct allo_filter *filter, struct allo_profile *profile,
		      const struct allo_profile *old, struct allo_error *err);

#endif
