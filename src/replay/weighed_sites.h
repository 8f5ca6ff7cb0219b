/*
 * weighed_sites.h - what the stacks of a sampled recording hold and have held, by estimate.
 *
 * Beside each sum there is its variance: that of w * x, summed up over independent blocks, is
 * estimated without bias by the sum of w * (w - 1) * x * x over those that were recorded.
 */
#ifndef ALLO_REPLAY_WEIGHED_SITES_H
#define ALLO_REPLAY_WEIGHED_SITES_H

#include "replay/weights.h"

/* Some blocks. */
struct allo_weighed {
	allo_parts blocks, bytes;
	double blocks_variance, bytes_variance;
};

/* As struct allo_site in heap.h, whose numbers are those of what was recorded. */
struct allo_weighed_site {
	struct allo_weighed alloc, live, max;
	struct allo_weighed kept; /* live at the peak, */
	uint32_t of_peak;         /* this one */
	allo_parts lifetime_ns;
	double lifetime_variance;
};

/* A block of a weight comes, or goes, after so many peaks. */
void allo_weighed_site_add(struct allo_weighed_site *site, uint64_t size,
			   const struct allo_weight *weight, uint32_t peaks);
void allo_weighed_site_take(struct allo_weighed_site *site, uint64_t size,
			    const struct allo_weight *weight, uint32_t peaks);

/* It has lived so long. */
void allo_weighed_site_end(struct allo_weighed_site *site, uint64_t ns,
			   const struct allo_weight *weight);

/* What was live at the last of so many peaks. */
struct allo_weighed allo_weighed_site_peak(const struct allo_weighed_site *site, uint32_t peaks);

/* Forgets what has happened so far, but not what is live. */
void allo_weighed_site_restart(struct allo_weighed_site *site);

#endif
