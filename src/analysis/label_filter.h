/*
 * label_filter.h - picks samples by their labels, and tells them apart by one.
 */
#ifndef ALLO_ANALYSIS_LABEL_FILTER_H
#define ALLO_ANALYSIS_LABEL_FILTER_H

#include "profile/profile.h"

enum { ALLO_LABEL_WISHES = 16 };

struct allo_label_wish {
	struct allo_text key, value;
	bool has_value; /* false: any will do */
};

/* All zeros is met by all labels, and by none. */
struct allo_label_wishes {
	struct allo_label_wish wish[ALLO_LABEL_WISHES];
	size_t count;
};

/* Adds "KEY=VALUE", or "KEY" for any value; the text stays as long.  A number is meant by its
 * digits. */
bool allo_label_wishes_add(struct allo_label_wishes *wishes, const char *text,
			   struct allo_error *err);

/* Whether a set has all labels that are wished for. */
bool allo_label_wishes_met(const struct allo_label_wishes *wishes,
			   const struct allo_profile *profile, allo_labels_id labels);

/* What a label says, as text; `scratch` is for numbers. */
enum { ALLO_LABEL_SCRATCH = 24 };
struct allo_text allo_label_text(const struct allo_profile *profile, const struct allo_label *label,
				 char scratch[ALLO_LABEL_SCRATCH]);

/* Gives each sample, in place of its stack, a frame that is called what its label of this key says;
 * those without one have no frame. */
bool allo_stacks_from_label(struct allo_profile *profile, const char *key, struct allo_error *err);

#endif
