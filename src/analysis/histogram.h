/*
 * histogram.h - histograms of blocks and bytes by size or by lifetime.
 */
#ifndef ALLO_ANALYSIS_HISTOGRAM_H
#define ALLO_ANALYSIS_HISTOGRAM_H

#include "base/error.h"
#include "base/text.h"

enum { ALLO_HISTOGRAM_BINS = 128 };

struct allo_bin {
	uint64_t from, to; /* inclusive */
	uint64_t blocks, bytes;
	double blocks_rest, bytes_rest; /* private: rounding errors of estimates */
};

/* Initialise with one of the functions below; owns nothing. */
struct allo_histogram {
	struct allo_bin bins[ALLO_HISTOGRAM_BINS]; /* without gaps, from 0 to UINT64_MAX */
	size_t count;
	uint64_t blocks, bytes;                     /* of all bins */
	uint64_t never_blocks, never_bytes;         /* lifetimes only: never freed, in no bin */
	double never_blocks_rest, never_bytes_rest; /* private, as in bins */
};

/* Bins up to 0, 1, 2, 4, 8, ... */
void allo_histogram_by_two(struct allo_histogram *histogram);

/* Bins below 1 us, 10 us, ... 1000 s, and above. */
void allo_histogram_by_ten(struct allo_histogram *histogram);

/* Bins that start at the numbers of an ascending list, "16,64,1K", and one below the first. `parse`
 * parses a number. */
bool allo_histogram_by_list(struct allo_histogram *histogram, const char *list,
			    bool (*parse)(struct allo_text text, uint64_t *value),
			    struct allo_error *err);

/* Adds blocks of one value; sums saturate. */
void allo_histogram_add(struct allo_histogram *histogram, uint64_t value, uint64_t blocks,
			uint64_t bytes);

/* Adds blocks that were never freed. */
void allo_histogram_add_never(struct allo_histogram *histogram, uint64_t blocks, uint64_t bytes);

/* The same for estimates; only their sums are rounded. */
void allo_histogram_estimate(struct allo_histogram *histogram, uint64_t value, double blocks,
			     double bytes);
void allo_histogram_estimate_never(struct allo_histogram *histogram, double blocks, double bytes);

/* The range of bins that have blocks; both are 0 if there are none. */
void allo_histogram_used(const struct allo_histogram *histogram, size_t *first, size_t *end);

#endif
