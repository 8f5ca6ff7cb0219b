/*
 * label_filter.h - selects samples by labels, and groups them by one label.
 */
#ifndef ALLO_ANALYSIS_LABEL_FILTER_H
#define ALLO_ANALYSIS_LABEL_FILTER_H

#include "profile/profile.h"

enum { ALLO_LABEL_MATCHES = 16 };

struct allo_label_match {
	struct allo_text key, value;
	bool has_value; /* false: any value matches */
};

/* All zeros matches every sample. */
struct allo_label_filter {
	struct allo_label_match match[ALLO_LABEL_MATCHES];
	size_t count;
};

/* Adds "KEY=VALUE", or "KEY" for any value; the text must stay valid.  A number matches its decimal
 * digits. */
bool allo_label_filter_add(struct allo_label_filter *filter, const char *text,
			   struct allo_error *err);

/* Whether a set has all labels of the filter. */
bool allo_label_filter_met(const struct allo_label_filter *filter,
			   const struct allo_profile *profile, allo_labels_id labels);

/* The matches of the filter that a set meets, one bit each. */
unsigned allo_label_filter_mask(const struct allo_label_filter *filter,
				const struct allo_profile *profile, allo_labels_id labels);

/* The value of a label as text; a number is formatted in `scratch`. */
enum { ALLO_LABEL_SCRATCH = 24 };
struct allo_text allo_label_text(const struct allo_profile *profile, const struct allo_label *label,
				 char scratch[ALLO_LABEL_SCRATCH]);

/* Replaces the stack of each sample by one frame, named by the value of this label; samples without
 * it get the empty stack. */
bool allo_stacks_from_label(struct allo_profile *profile, const char *key, struct allo_error *err);

/* The same for samples that allo_profile_move_samples() has moved to `old`, where they stay. */
bool allo_stacks_take_label(struct allo_profile *profile, const struct allo_profile *old,
			    const char *key, struct allo_error *err);

#endif
