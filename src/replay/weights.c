/* weights.c - the probability of each size, and its inverse as a fixed-point number. */
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

struct allo_weighing allo_weighing_of(const struct allo_recording *recording)
{
	struct allo_weighing weighing = allo_weighing_by(&recording->head.sampling);

	if (weighing.is_sampled) {
		weighing.changes = recording->rate_changes.at;
		weighing.change_count = recording->rate_changes.len;
	}
	return weighing;
}

/* The sampling interval at a time. */
static double rate_at(const struct allo_weighing *weighing, uint64_t ns)
{
	size_t first = 0, end = weighing->change_count; /* the next change is in between */

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (weighing->changes[middle].ns <= ns)
			first = middle + 1;
		else
			end = middle;
	}
	return first == 0 ? weighing->rate
			  : fmin((double)weighing->changes[first - 1].rate, rate_most);
}

struct allo_weight allo_weigh_sampled(const struct allo_weighing *weighing, uint64_t size,
				      uint64_t birth_ns)
{
	const double parts = 1 << ALLO_PARTS_SHIFT;
	double rate = rate_at(weighing, birth_ns), weight = rate;

	if (weighing->by_bytes)
		weight = -1 / expm1(-(double)(size ? size : 1) / rate);
	return (struct allo_weight){
		.weight = weight,
		.blocks = (allo_parts)(weight * parts + 0.5),
		.bytes = (allo_parts)(weight * (double)size * parts + 0.5),
	};
}

void allo_weighed_totals_add(struct allo_weighed_totals *totals,
			     const struct allo_weighing *weighing, uint64_t size, uint64_t birth_ns)
{
	struct allo_weight weight = allo_weigh(weighing, size, birth_ns);

	totals->allocations += weight.blocks;
	totals->total_bytes += weight.bytes;
	totals->blocks += weight.blocks;
	totals->bytes += weight.bytes;
}

void allo_weighed_totals_end(struct allo_weighed_totals *totals,
			     const struct allo_weighing *weighing, uint64_t size, uint64_t birth_ns)
{
	struct allo_weight weight = allo_weigh(weighing, size, birth_ns);

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
