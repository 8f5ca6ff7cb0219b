/*
 * heap_totals.h - whether a heap profile's header says what its sites add up to.
 *
 * A file that was cut at the end of a line reads well; its header still knows better.
 */
#ifndef ALLO_READERS_HEAP_TOTALS_H
#define ALLO_READERS_HEAP_TOTALS_H

#include "readers/unsample.h"

/* An estimate, and how far off it may be, as the numbers that it is made of were rounded. */
struct allo_heap_estimate {
	double bytes;
	double off, off_squared; /* sums over the sites */
};

/* All zeros, with what is known about the header set, is ready for use. */
struct allo_heap_totals {
	bool is_stated; /* there is a header */
	struct allo_heap_counts stated;
	struct allo_pos pos;   /* of the header */
	bool has_ever;         /* what was ever allocated counts, too */
	bool are_more_allowed; /* sites may hold what the header does not count */
	int64_t unbiased_rate; /* jemalloc's; 0: numbers are sums as they stand */

	/* Private: of the sites. */
	struct allo_heap_counts found;
	struct allo_heap_estimate live, ever;
};

/* Adds a site, as the file has it. */
void allo_heap_totals_add(struct allo_heap_totals *totals, const struct allo_heap_counts *site);

/* Notes it if the header and the sites contradict each other. */
void allo_heap_totals_check(const struct allo_heap_totals *totals, struct allo_notes *notes);

#endif
