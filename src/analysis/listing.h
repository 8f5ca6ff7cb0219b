/*
 * listing.h - values by source line of selected functions.
 */
#ifndef ALLO_ANALYSIS_LISTING_H
#define ALLO_ANALYSIS_LISTING_H

#include "analysis/filters/pattern.h"
#include "analysis/top.h"

struct allo_listed_line {
	uint64_t line;            /* 0: unknown */
	struct allo_values self;  /* of samples that end here */
	struct allo_values total; /* of samples that pass through */
	size_t function;          /* index in `functions` */
};

struct allo_listed_function {
	allo_string_id name, file;
	struct allo_values self, total;
	size_t first, count; /* in `lines`, by their numbers */
};

/* All zeros, with `attribution` set, is ready for use. */
struct allo_listing {
	struct allo_attribution *attribution;            /* may be NULL */
	struct allo_values sum;                          /* of all samples */
	ALLO_VEC(struct allo_listed_function) functions; /* the heaviest first */
	ALLO_VEC(struct allo_listed_line) lines;
};

void allo_listing_done(struct allo_listing *listing);

/* Lists the matching functions that are not 0. */
bool allo_listing_of(struct allo_listing *listing, const struct allo_profile *profile,
		     const struct allo_metric_columns *columns, struct allo_pattern *pattern,
		     struct allo_error *err);

#endif
