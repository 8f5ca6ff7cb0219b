/*
 * label_sums.h - what the samples of each value of a label add up to: of each thread, say.
 */
#ifndef ALLO_ANALYSIS_LABEL_SUMS_H
#define ALLO_ANALYSIS_LABEL_SUMS_H

#include "analysis/sum.h"

struct allo_label_sum {
	allo_labels_id labels; /* the first of its label sets */
	allo_sum *sums;        /* by metric */
	double *variances;     /* of the sums, where they are estimates */
};

/* All zeros: nothing to drop. */
struct allo_label_sums {
	ALLO_VEC(struct allo_label_sum) rows;

	/* Private. */
	struct allo_arena arena;
};

/* The label of a set that has this key; NULL: none. */
const struct allo_label *allo_labels_find(const struct allo_profile *profile, allo_labels_id labels,
					  const char *key);

/* Rows for the values of the label `key`, in the order of their first samples; samples without it
 * are in none. */
bool allo_label_sums_of(struct allo_label_sums *sums, const struct allo_profile *profile,
			const char *key, struct allo_error *err);

/* Largest first by a metric, equal ones as they were. */
void allo_label_sums_sort(struct allo_label_sums *sums, size_t metric);

void allo_label_sums_done(struct allo_label_sums *sums);

#endif
