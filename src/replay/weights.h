/*
 * weights.h - weights of the blocks of a sampled recording.
 *
 * A block that is recorded with probability p stands for w = 1 / p blocks of its size.  The sum of
 * w * x over the recorded blocks is an unbiased estimate for any set of blocks, if each block has
 * its own w: the weight of the average size is not the average weight.  p depends on the size of
 * the block and on the sampling interval at its birth, which may change during a recording.
 *
 * Weights are fixed-point numbers with 16 fractional bits, called parts.  Each weight is rounded
 * once, by much less than the sampling error.  Sums of parts are exact, so that a block that is
 * added and taken off leaves nothing behind.  Sums are rounded to integers for output only.
 */
#ifndef ALLO_REPLAY_WEIGHTS_H
#define ALLO_REPLAY_WEIGHTS_H

#include "replay/recording/recording.h"

typedef unsigned __int128 allo_parts;

enum { ALLO_PARTS_SHIFT = 16 };

/* The sampling method.  All zeros: not sampled. */
struct allo_weighing {
	bool is_sampled;
	bool by_bytes;
	double rate;                            /* until the first change */
	const struct allo_rate_change *changes; /* of the recording, by time */
	size_t change_count;
};

/* Without the changes of the interval. */
struct allo_weighing allo_weighing_by(const struct allo_wire_sampling *sampling);

/* Until the recording is refreshed. */
struct allo_weighing allo_weighing_of(const struct allo_recording *recording);

static inline bool allo_is_sampled(const struct allo_weighing *weighing)
{
	return weighing->is_sampled;
}

struct allo_weight {
	double weight; /* w */
	allo_parts blocks, bytes;
};

/* The factor of x * x in the variance of a sum of w * x. */
static inline double allo_weight_spread(const struct allo_weight *weight)
{
	return weight->weight * (weight->weight - 1);
}

struct allo_weight allo_weigh_sampled(const struct allo_weighing *weighing, uint64_t size,
				      uint64_t birth_ns);

/* The weight of a block.  It depends on size and birth alone, so that the same weight is taken off.
 */
static inline struct allo_weight allo_weigh(const struct allo_weighing *weighing, uint64_t size,
					    uint64_t birth_ns)
{
	if (__builtin_expect(weighing->is_sampled, 0))
		return allo_weigh_sampled(weighing, size, birth_ns);
	return (struct allo_weight){ 1, (allo_parts)1 << ALLO_PARTS_SHIFT,
				     (allo_parts)size << ALLO_PARTS_SHIFT };
}

/* Estimates for all blocks.  All zeros at first. */
struct allo_weighed_totals {
	allo_parts allocations, total_bytes, ended;
	allo_parts bytes, blocks; /* live now */
};

void allo_weighed_totals_add(struct allo_weighed_totals *totals,
			     const struct allo_weighing *weighing, uint64_t size,
			     uint64_t birth_ns);
void allo_weighed_totals_end(struct allo_weighed_totals *totals,
			     const struct allo_weighing *weighing, uint64_t size,
			     uint64_t birth_ns);

/* Rounds to the nearest integer, at most UINT64_MAX. */
uint64_t allo_parts_round(allo_parts parts);

/* Rounds one of several numbers such that the rounded numbers add up to the rounded sum.  `sum` is
 * the sum of the numbers before, and is updated. */
uint64_t allo_parts_share(allo_parts *sum, allo_parts more);

#endif
