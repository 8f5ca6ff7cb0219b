/* weighed_sites.c - see weighed_sites.h. */
#include "replay/weighed_sites.h"

static void add(struct allo_weighed *to, uint64_t size, const struct allo_weight *weight)
{
	double spread = allo_weight_spread(weight);

	to->blocks += weight->blocks;
	to->bytes += weight->bytes;
	to->blocks_variance += spread;
	to->bytes_variance += spread * (double)size * (double)size;
}

static void take_off(struct allo_weighed *from, uint64_t size, const struct allo_weight *weight)
{
	double spread = allo_weight_spread(weight);

	from->blocks -= weight->blocks;
	from->bytes -= weight->bytes;
	from->blocks_variance -= spread;
	from->bytes_variance -= spread * (double)size * (double)size;
	/* What rounding has left of them. */
	if (from->blocks == 0)
		from->blocks_variance = from->bytes_variance = 0;
}

/* What a site held at the last peak can be seen until it changes: it is noted just before. */
static void note_peak(struct allo_weighed_site *site, uint32_t peaks)
{
	if (site->of_peak != peaks) {
		site->kept = site->live;
		site->of_peak = peaks;
	}
}

void allo_weighed_site_add(struct allo_weighed_site *site, uint64_t size,
			   const struct allo_weight *weight, uint32_t peaks)
{
	note_peak(site, peaks);
	add(&site->alloc, size, weight);
	add(&site->live, size, weight);
	if (site->live.bytes > site->max.bytes ||
	    (site->live.bytes == site->max.bytes && site->live.blocks > site->max.blocks))
		site->max = site->live;
}

void allo_weighed_site_take(struct allo_weighed_site *site, uint64_t size,
			    const struct allo_weight *weight, uint32_t peaks)
{
	note_peak(site, peaks);
	take_off(&site->live, size, weight);
}

void allo_weighed_site_end(struct allo_weighed_site *site, uint64_t ns,
			   const struct allo_weight *weight)
{
	allo_parts most = ~(allo_parts)0, lifetime;

	if (__builtin_mul_overflow(weight->blocks, ns, &lifetime) ||
	    __builtin_add_overflow(site->lifetime_ns, lifetime, &site->lifetime_ns))
		site->lifetime_ns = most;
	site->lifetime_variance += allo_weight_spread(weight) * (double)ns * (double)ns;
}

struct allo_weighed allo_weighed_site_peak(const struct allo_weighed_site *site, uint32_t peaks)
{
	return site->of_peak == peaks ? site->kept : site->live;
}

void allo_weighed_site_restart(struct allo_weighed_site *site)
{
	*site = (struct allo_weighed_site){ .live = site->live, .max = site->live };
}
