/*
 * label_sums.h - sums of the samples for each value of a label, such as the thread.
 */
#ifndef ALLO_ANALYSIS_LABEL_SUMS_H
#define ALLO_ANALYSIS_LABEL_SUMS_H

#include "analysis/sum.h"

struct allo_label_sum {
	allo_labels_id labels; /* the first label set with this value */
	allo_sum *sums;        /* by metric */
	double *variances;     /* of estimated sums */
};

/* All zeros: nothing to drop. */
struct allo_label_sums {
	ALLO_VEC(struct allo_label_sum) rows;

	/* Private. */
	struct allo_arena arena;
};

/* The label of a set with this key, or NULL. */
const struct allo_label *allo_labels_find(const struct allo_profile *profile, allo_labels_id labels,
					  const char *key);

/* Adds a row per value of the label `key`, in the order of their first samples; samples without the
 * label are in no row. */
bool allo_label_sums_of(struct allo_label_sums *sums, const struct allo_profile *profile,
			const char *key, struct allo_error *err);

/* Sorts by a metric, largest first; stable. */
void allo_label_sums_sort(struct allo_label_sums *sums, size_t metric);

void allo_label_sums_done(struct allo_label_sums *sums);

#endif
