/* curve.c - filling, folding and adding curves; their trend by least squares. */
#include "findings/curve.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

void allo_curve_fill(struct allo_curve *curve, size_t step, uint64_t live_bytes)
{
	ALLO_ASSERT(step <= ALLO_CURVE_STEPS);
	while (curve->filled < step)
		curve->live[curve->filled++] = live_bytes;
}

void allo_curve_fold(struct allo_curve *curve)
{
	ALLO_ASSERT(curve->filled <= ALLO_CURVE_STEPS);
	curve->filled /= 2;
	for (size_t i = 0; i < ALLO_CURVE_STEPS / 2; i++) {
		curve->live[i] = curve->live[2 * i + 1];
		curve->old_freed[i] = curve->old_freed[2 * i] + curve->old_freed[2 * i + 1];
	}
	memset(curve->old_freed + ALLO_CURVE_STEPS / 2, 0, sizeof(curve->old_freed) / 2);
}

void allo_curve_add(struct allo_curve *to, const struct allo_curve *more)
{
	ALLO_ASSERT(to->filled <= ALLO_CURVE_STEPS && more->filled <= ALLO_CURVE_STEPS);
	if (to->filled < more->filled)
		to->filled = more->filled;
	for (size_t i = 0; i < more->filled; i++) {
		to->live[i] += more->live[i];
		to->old_freed[i] += more->old_freed[i];
	}
}

/* Sums for a regression; y are bytes. */
struct sums {
	double n, x, y, xx, yy, xy;
};

static void add_point(struct sums *sums, double x, double y)
{
	sums->n++;
	sums->x += x;
	sums->y += y;
	sums->xx += x * x;
	sums->yy += y * y;
	sums->xy += x * y;
}

/* The square of the correlation with its sign. */
static double signed_r2(const struct sums *sums)
{
	double covariance = sums->n * sums->xy - sums->x * sums->y;
	double variances = (sums->n * sums->xx - sums->x * sums->x) *
			   (sums->n * sums->yy - sums->y * sums->y);
	double r2;

	if (!(variances > 0))
		return 0;
	r2 = covariance * covariance / variances;
	return copysign(r2 > 1 ? 1 : r2, covariance);
}

struct allo_trend allo_curve_trend(const struct allo_curve *curve, size_t from)
{
	struct allo_trend trend = { 0 };
	struct sums sums = { 0 };
	double spread;

	/* Differences from the first value keep the squares small, and so exact. */
	for (size_t i = from; i < curve->filled; i++)
		add_point(&sums, (double)(i - from),
			  (double)curve->live[i] - (double)curve->live[from]);
	spread = sums.n * sums.xx - sums.x * sums.x;
	if (spread > 0)
		trend.slope = (sums.n * sums.xy - sums.x * sums.y) / spread;
	trend.r2 = fabs(signed_r2(&sums));
	return trend;
}

double allo_curve_correlation(const struct allo_curve *a, const struct allo_curve *b)
{
	struct sums sums = { 0 };
	double r2;

	for (size_t i = 0; i < a->filled && i < b->filled; i++)
		add_point(&sums, (double)a->live[i], (double)b->live[i]);
	r2 = signed_r2(&sums);
	return copysign(sqrt(fabs(r2)), r2);
}
