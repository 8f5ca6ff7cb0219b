/*
 * heap_totals.c - see heap_totals.h.
 *
 * Since 5.3 jemalloc makes an estimate of every site by the sizes of its single blocks, and prints
 * the two numbers from which the usual formula makes the same estimate again.  It does so for the
 * header as well.  So printed numbers do not add up, but estimates do, as far as rounding lets
 * them: one block instead of 1.4 is a lot.  Older ones print what they have seen, which adds up.
 */
#include "readers/heap_totals.h"

#include <math.h>

/* Wraps where 64 bits do not suffice, as it does in the programs that write the headers. */
static void add(struct allo_counted *sum, const struct allo_counted *more)
{
	(void)__builtin_add_overflow(sum->blocks, more->blocks, &sum->blocks);
	(void)__builtin_add_overflow(sum->bytes, more->bytes, &sum->bytes);
}

/* The bytes that were there, if this was seen, give or take half a block and half a byte. */
static double estimate(const struct allo_counted *seen, double rounded, int64_t rate)
{
	double blocks = (double)seen->blocks + rounded, bytes = (double)seen->bytes + rounded;

	if (seen->blocks <= 0 || seen->bytes <= 0)
		return 0;
	return bytes / -expm1(-bytes / blocks / (double)rate);
}

static void add_estimate(struct allo_heap_estimate *sum, const struct allo_counted *site,
			 int64_t rate)
{
	double off = (estimate(site, 0.5, rate) - estimate(site, -0.5, rate)) / 2;

	sum->bytes += estimate(site, 0, rate);
	sum->off += off;
	sum->off_squared += off * off;
}

void allo_heap_totals_add(struct allo_heap_totals *totals, const struct allo_heap_counts *site)
{
	add(&totals->found.live, &site->live);
	add(&totals->found.ever, &site->ever);
	if (totals->unbiased_rate > 0) {
		add_estimate(&totals->live, &site->live, totals->unbiased_rate);
		add_estimate(&totals->ever, &site->ever, totals->unbiased_rate);
	}
}

/* Whether estimates contradict each other. */
static bool is_far_off(const struct allo_counted *stated, const struct allo_heap_estimate *found,
		       int64_t rate)
{
	/* Not all sites are rounded the same way.  Seven standard deviations of what is, and 3 %
	 * for what is alike in all sites: what jemalloc writes is well within. */
	double usual = 4 * sqrt(found->off_squared) + found->bytes / 32;
	double off = fmin(found->off, usual) + found->bytes / 1e9; /* and doubles' own rounding */

	return found->bytes + off < estimate(stated, -0.5, rate) ||
	       found->bytes - off > estimate(stated, 0.5, rate);
}

static int64_t whole(double bytes)
{
	return bytes < (double)INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

static bool differs(const struct allo_heap_totals *totals, int64_t stated, int64_t found)
{
	return totals->are_more_allowed ? found < stated : found != stated;
}

static bool check(const struct allo_heap_totals *totals, const struct allo_counted *stated,
		  const struct allo_counted *found, const struct allo_heap_estimate *estimated,
		  const char *const names[3], struct allo_notes *notes)
{
	int64_t rate = totals->unbiased_rate;
	bool bytes_differ = differs(totals, stated->bytes, found->bytes);

	if (!bytes_differ && !differs(totals, stated->blocks, found->blocks))
		return true;
	if (rate > 0 && !is_far_off(stated, estimated, rate))
		return true;
	if (rate > 1)
		allo_note_totals(notes, totals->pos, names[2], whole(estimate(stated, 0, rate)),
				 whole(estimated->bytes));
	else if (bytes_differ)
		allo_note_totals(notes, totals->pos, names[0], stated->bytes, found->bytes);
	else
		allo_note_totals(notes, totals->pos, names[1], stated->blocks, found->blocks);
	return false;
}

void allo_heap_totals_check(const struct allo_heap_totals *totals, struct allo_notes *notes)
{
	static const char *const live[] = { "bytes", "blocks", "bytes (estimated)" };
	static const char *const ever[] = { "allocated bytes", "allocated blocks",
					    "allocated bytes (estimated)" };

	if (totals->is_stated &&
	    check(totals, &totals->stated.live, &totals->found.live, &totals->live, live, notes) &&
	    totals->has_ever)
		check(totals, &totals->stated.ever, &totals->found.ever, &totals->ever, ever,
		      notes);
}
