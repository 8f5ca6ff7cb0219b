/*
 * curve.h - the live memory of a site over time, in steps of equal length, and its shape.
 *
 * The length of a recording is not known in advance: when there would be too many steps, each two
 * become one.  So all curves of a replay have the same steps at any time.
 */
#ifndef ALLO_FINDINGS_CURVE_H
#define ALLO_FINDINGS_CURVE_H

#include <stddef.h>
#include <stdint.h>

enum { ALLO_CURVE_STEPS = 128 };

struct allo_curve {
	uint64_t live[ALLO_CURVE_STEPS]; /* bytes at the end of each step, up to `filled` */
	/* Bytes of blocks that were freed in each step after nine tenths of the time until then. */
	uint64_t old_freed[ALLO_CURVE_STEPS];
	uint64_t filled; /* steps that have a value */
};

/* Fills the steps before `step` that have no value yet. */
void allo_curve_fill(struct allo_curve *curve, size_t step, uint64_t live_bytes);

/* Makes each two steps one.  If only the first of two has a value, theirs is not known yet. */
void allo_curve_fold(struct allo_curve *curve);

/* Adds another curve.  Both must be filled up to the same step. */
void allo_curve_add(struct allo_curve *to, const struct allo_curve *more);

/* The line through the values of the steps from `from` on that has the least square error. */
struct allo_trend {
	double slope; /* bytes per step */
	double r2;    /* the part of the variance that the line explains; 0 of a constant */
};

struct allo_trend allo_curve_trend(const struct allo_curve *curve, size_t from);

/* The correlation of two curves; 0 if one is constant. */
double allo_curve_correlation(const struct allo_curve *a, const struct allo_curve *b);

#endif
