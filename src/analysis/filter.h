/*
 * filter.h - leaves out samples and frames.
 */
#ifndef ALLO_ANALYSIS_FILTER_H
#define ALLO_ANALYSIS_FILTER_H

#include "analysis/label_filter.h"
#include "analysis/pattern.h"

enum { ALLO_FILTER_PATTERNS = 16 };

struct allo_patterns {
	struct allo_pattern pattern[ALLO_FILTER_PATTERNS];
	size_t count;
};

/* What is left of a frame: itself, a part of it, or 0 for nothing. */
struct allo_kept_frame {
	allo_frame_id whole;   /* with the hidden calls taken out */
	allo_frame_id as_leaf; /* and with the allocator's calls taken off its inner end */
};

struct allo_frame_fate {
	uint32_t focus; /* bits of the focus patterns that it matches */
	bool is_ignored;
	bool is_border; /* whoever calls it is start-up's */
	struct allo_kept_frame kept;
	struct allo_kept_frame as_root; /* with start-up's calls taken off its outer end as well */
};

/* All zeros changes nothing. */
struct allo_filter {
	struct allo_patterns focus;      /* keeps samples whose stacks match all of these */
	struct allo_patterns ignore;     /* drops samples whose stacks match any */
	struct allo_patterns hide;       /* takes frames that match any out of all stacks */
	struct allo_patterns show;       /* takes frames that match none out */
	struct allo_label_wishes labels; /* keeps samples that have all of these */
	bool trim_allocator;             /* takes malloc() and its like off the inner end */
	bool trim_startup;               /* takes _start() and its like off the outer end */
	uint64_t stack_depth;            /* keeps so many frames, the innermost ones; 0: all */

	uint64_t kept, dropped; /* samples so far */

	/* What became of stacks, for who has something of his own about them: by stack, what it is
	 * now where a sample ended with it, or UINT32_MAX where such samples are dropped. */
	bool tells_stacks;
	ALLO_VEC(allo_stack_id) became; /* of the last portion; if that is asked for */

	/* Private: what was found out about the frames and labels of the profile's earlier
	 * portions. */
	ALLO_VEC(struct allo_frame_fate) fates; /* by frame */
	ALLO_VEC(bool) has_labels;              /* by label set: all that are wished for */
	ALLO_VEC(allo_frame_id) innermost;      /* of the stack that is cut just now */
};

void allo_filter_done(struct allo_filter *filter);

/* Forgets the profile, so that the filter can serve another one. */
void allo_filter_start_over(struct allo_filter *filter);

bool allo_patterns_add(struct allo_patterns *patterns, const char *text, struct allo_error *err);

/* Whether frames may go, so that stacks may become equal. */
static inline bool allo_filter_joins(const struct allo_filter *filter)
{
	return filter->hide.count || filter->show.count || filter->trim_allocator ||
	       filter->trim_startup || filter->stack_depth;
}

static inline bool allo_filter_is_empty(const struct allo_filter *filter)
{
	return !filter->focus.count && !filter->ignore.count && !filter->labels.count &&
	       !allo_filter_joins(filter);
}

/* Changes the profile, or a portion of it, accordingly: samples whose stacks become equal are added
 * up.  One filter serves one profile. */
bool allo_filter_apply(struct allo_filter *filter, struct allo_profile *profile,
		       struct allo_error *err);

#endif
