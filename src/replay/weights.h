/*
 * weights.h - what the blocks of a sampled recording stand for.
 *
 * A block that was recorded with the probability p stands for w = 1 / p blocks of its size.  Summed
 * up over what was recorded, w times anything is right on average for any set of blocks, as long as
 * each block has its own w: the average size of several does not tell their average weight.
 *
 * Weights are kept in parts, of which a block or a byte has 65536.  A weight is rounded to them
 * once, by less than any sampling tells; from there on sums are exact, so that what comes and goes
 * leaves nothing behind.  They become whole numbers when they are told and not before: a weight of
 * 1.16 that is rounded with each block would always be 1.
 */
#ifndef ALLO_REPLAY_WEIGHTS_H
#define ALLO_REPLAY_WEIGHTS_H

#include "replay/recording.h"

typedef unsigned __int128 allo_parts;

enum { ALLO_PARTS_SHIFT = 16 };

/* How blocks were chosen.  All zeros: all of them. */
struct allo_weighing {
	bool is_sampled;
	bool by_bytes;
	double rate;
};

struct allo_weighing allo_weighing_by(const struct allo_wire_sampling *sampling);

static inline struct allo_weighing allo_weighing_of(const struct allo_recording *recording)
{
	return allo_weighing_by(&recording->head.sampling);
}

static inline bool allo_is_sampled(const struct allo_weighing *weighing)
{
	return weighing->is_sampled;
}

struct allo_weight {
	double weight; /* w */
	allo_parts blocks, bytes;
};

/* What the square of x adds to the variance of a sum of w * x. */
static inline double allo_weight_spread(const struct allo_weight *weight)
{
	return weight->weight * (weight->weight - 1);
}

struct allo_weight allo_weigh_sampled(const struct allo_weighing *weighing, uint64_t size);

/* Of a block of so many bytes.  It is always the same: what is added can be taken off again. */
static inline struct allo_weight allo_weigh(const struct allo_weighing *weighing, uint64_t size)
{
	if (__builtin_expect(weighing->is_sampled, 0))
		return allo_weigh_sampled(weighing, size);
	return (struct allo_weight){ 1, (allo_parts)1 << ALLO_PARTS_SHIFT,
				     (allo_parts)size << ALLO_PARTS_SHIFT };
}

/* What blocks stand for that come and go.  All zeros: none. */
struct allo_weighed_totals {
	allo_parts allocations, total_bytes, ended;
	allo_parts bytes, blocks; /* live now */
};

void allo_weighed_totals_add(struct allo_weighed_totals *totals,
			     const struct allo_weighing *weighing, uint64_t size);
void allo_weighed_totals_end(struct allo_weighed_totals *totals,
			     const struct allo_weighing *weighing, uint64_t size);

/* The nearest whole number, or the largest there is. */
uint64_t allo_parts_round(allo_parts parts);

/* The whole number for one of several that are told apart, such that all of them add up to what
 * their sum is rounded to.  `sum` is that of those before. */
uint64_t allo_parts_share(allo_parts *sum, allo_parts more);

#endif
