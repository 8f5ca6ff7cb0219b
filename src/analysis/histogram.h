/*
 * histogram.h - how many blocks, and how many bytes, are of which size or lived how long.
 */
#ifndef ALLO_ANALYSIS_HISTOGRAM_H
#define ALLO_ANALYSIS_HISTOGRAM_H

#include "base/error.h"
#include "base/text.h"

enum { ALLO_HISTOGRAM_BINS = 128 };

struct allo_bin {
	uint64_t from, to; /* both belong to it */
	uint64_t blocks, bytes;
	double blocks_rest, bytes_rest; /* private: what rounding has left of estimates */
};

/* To be made by one of the functions below; owns nothing. */
struct allo_histogram {
	struct allo_bin bins[ALLO_HISTOGRAM_BINS]; /* without gaps, from 0 to UINT64_MAX */
	size_t count;
	uint64_t blocks, bytes;                     /* of all bins */
	uint64_t never_blocks, never_bytes;         /* for lifetimes: never freed, and in no bin */
	double never_blocks_rest, never_bytes_rest; /* private, as those of bins */
};

/* Bins up to 0, 1, 2, 4, 8, ... */
void allo_histogram_by_two(struct allo_histogram *histogram);

/* Bins below 1 microsecond, 10 microseconds, ... 1000 seconds, and above. */
void allo_histogram_by_ten(struct allo_histogram *histogram);

/* Bins that begin at the numbers of a list, "16,64,1K", which have to rise; what is below the first
 * has a bin of its own.  `parse` reads one. */
bool allo_histogram_by_list(struct allo_histogram *histogram, const char *list,
			    bool (*parse)(struct allo_text text, uint64_t *value),
			    struct allo_error *err);

/* Counts blocks of one value; sums stay at the largest number. */
void allo_histogram_add(struct allo_histogram *histogram, uint64_t value, uint64_t blocks,
			uint64_t bytes);

/* Counts blocks that have no lifetime, since they were never freed. */
void allo_histogram_add_never(struct allo_histogram *histogram, uint64_t blocks, uint64_t bytes);

/* The same of estimates, which are rounded only when they are added up. */
void allo_histogram_estimate(struct allo_histogram *histogram, uint64_t value, double blocks,
			     double bytes);
void allo_histogram_estimate_never(struct allo_histogram *histogram, double blocks, double bytes);

/* The bins from the first to the last one that have any blocks; none: both are 0. */
void allo_histogram_used(const struct allo_histogram *histogram, size_t *first, size_t *end);

#endif
