#include "replay/weights.h"

#include "base/assert.h"

#include <math.h>

/* Larger than any real sampling interval.  With it sums of parts fit 128 bits for any file, since
 * sizes add up to at most 64 bits (live_blocks.c). */
static const double rate_most = 0x1p40;

struct allo_weighing allo_weighing_by(const struct allo_wire_sampling *sampling)
{
	bool by_bytes = sampling->mode == ALLO_MODE_SAMPLED && sampling->rate > 0;
	bool by_events = sampling->mode == ALLO_MODE_EVENTS && sampling->rate > 1;

	return (struct allo_weighing){
		.is_sampled = by_bytes || by_events,
		.by_bytes = by_bytes,
		.rate = fmin((double)sampling->rate, rate_most),
	};
}

struct allo_weight allo_weigh_sampled(const struct allo_weighing *weighing, uint64_t size)
{
	const double parts = 1 << ALLO_PARTS_SHIFT;
	double weight = weighing->rate;

	if (weighing->by_bytes)
		weight = -1 / expm1(-(double)(size ? size : 1) / weighing->rate);
	return (struct allo_weight){
		.weight = weight,
		.blocks = (allo_parts)(weight * parts + 0.5),
		.bytes = (allo_parts)(weight * (double)size * parts + 0.5),
	};
}

void allo_weighed_totals_add(struct allo_weighed_totals *totals,
			     const struct allo_weighing *weighing, uint64_t size)
{
	struct allo_weight weight = allo_weigh(weighing, size);

	totals->allocations += weight.blocks;
	totals->total_bytes += weight.bytes;
	totals->blocks += weight.blocks;
	totals->bytes += weight.bytes;
}

void allo_weighed_totals_end(struct allo_weighed_totals *totals,
			     const struct allo_weighing *weighing, uint64_t size)
{
	struct allo_weight weight = allo_weigh(weighing, size);

	ALLO_ASSERT(totals->blocks >= weight.blocks && totals->bytes >= weight.bytes);
	totals->ended += weight.blocks;
	totals->blocks -= weight.blocks;
	totals->bytes -= weight.bytes;
}

static allo_parts rounded(allo_parts parts)
{
	return (parts >> ALLO_PARTS_SHIFT) + (parts >> (ALLO_PARTS_SHIFT - 1) & 1);
}

static uint64_t cut(allo_parts whole)
{
	return whole > UINT64_MAX ? UINT64_MAX : (uint64_t)whole;
}

uint64_t allo_parts_round(allo_parts parts)
{
	return cut(rounded(parts));
}

uint64_t allo_parts_share(allo_parts *sum, allo_parts more)
{
	allo_parts before = rounded(*sum);

	*sum += more;
	return cut(rounded(*sum) - before);
}
