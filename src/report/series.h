/*
 * series.h - measured numbers for services that follow them from build to build.
 */
#ifndef ALLO_REPORT_SERIES_H
#define ALLO_REPORT_SERIES_H

#include "analysis/sum.h"
#include "base/io/output.h"
#include "base/vec.h"

struct allo_series_number {
	char *benchmark; /* owned by the list */
	const char *metric, *unit;
	allo_sum value;
};

/* All zeros is none. */
struct allo_series {
	ALLO_VEC(struct allo_series_number) list;
};

void allo_series_done(struct allo_series *series);

/* customSmallerIsBetter of github-action-benchmark. */
void allo_series_write_benchmark(const struct allo_series *series, struct allo_output *out);

/* Bencher Metric Format. */
void allo_series_write_bencher(const struct allo_series *series, struct allo_output *out);

#endif
