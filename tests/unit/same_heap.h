/*
 * same_heap.h - compares two heaps number by number: one from a replay, and one from a change log.
 *
 * Prints the first numbers that differ.
 */
#ifndef ALLO_TESTS_SAME_HEAP_H
#define ALLO_TESTS_SAME_HEAP_H

#include "replay/heap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN_DIFFERENCES = 20 };

struct comparison {
	uint64_t compared, different;
};

static inline void compare_numbers(struct comparison *comparison, const char *name, size_t index,
				   uint64_t expected, uint64_t found)
{
	comparison->compared++;
	if (expected == found)
		return;
	if (comparison->different++ < SHOWN_DIFFERENCES)
		printf("%s %zu: %llu expected, %llu found\n", name, index,
		       (unsigned long long)expected, (unsigned long long)found);
}

static inline void compare_parts(struct comparison *comparison, const char *name, size_t index,
				 allo_parts expected, allo_parts found)
{
	compare_numbers(comparison, name, index, (uint64_t)expected, (uint64_t)found);
	compare_numbers(comparison, name, index, (uint64_t)(expected >> 64),
			(uint64_t)(found >> 64));
}

/* Variances depend on the order of additions. */
static inline void compare_variances(struct comparison *comparison, const char *name, size_t index,
				     double expected, double found)
{
	double scale = fmax(fabs(expected), fabs(found));

	compare_numbers(comparison, name, index, true,
			fabs(expected - found) <= 1e-9 * scale + 1e-3);
}

static inline void compare_weighed(struct comparison *comparison, const char *name, size_t index,
				   const struct allo_weighed *expected,
				   const struct allo_weighed *found)
{
	compare_parts(comparison, name, index, expected->blocks, found->blocks);
	compare_parts(comparison, name, index, expected->bytes, found->bytes);
	compare_variances(comparison, name, index, expected->blocks_variance,
			  found->blocks_variance);
	compare_variances(comparison, name, index, expected->bytes_variance, found->bytes_variance);
}

static inline void compare_weighed_sites(struct comparison *comparison, size_t site,
					 const struct allo_heap *expected,
					 const struct allo_heap *found)
{
	const struct allo_weighed_site *a = &expected->weighed[site], *b = &found->weighed[site];
	struct allo_weighed peak_a = allo_weighed_site_peak(a, expected->peaks);
	struct allo_weighed peak_b = allo_weighed_site_peak(b, found->peaks);

	compare_weighed(comparison, "weighed alloc", site, &a->alloc, &b->alloc);
	compare_weighed(comparison, "weighed live", site, &a->live, &b->live);
	compare_weighed(comparison, "weighed max", site, &a->max, &b->max);
	compare_weighed(comparison, "weighed peak", site, &peak_a, &peak_b);
	compare_parts(comparison, "weighed lifetime", site, a->lifetime_ns, b->lifetime_ns);
	compare_variances(comparison, "lifetime variance", site, a->lifetime_variance,
			  b->lifetime_variance);
}

static inline void compare_sites(struct comparison *comparison, size_t site,
				 const struct allo_heap *expected, const struct allo_heap *found)
{
	const struct allo_site *a = &expected->sites[site], *b = &found->sites[site];
	struct allo_peak peak_a = allo_heap_peak(expected, a), peak_b = allo_heap_peak(found, b);

	compare_numbers(comparison, "made", site, expected->blocks.made[site],
			found->blocks.made[site]);
	compare_numbers(comparison, "alloc_bytes", site, a->alloc_bytes, b->alloc_bytes);
	compare_numbers(comparison, "max_bytes", site, a->max_bytes, b->max_bytes);
	compare_numbers(comparison, "max_blocks", site, a->max_blocks, b->max_blocks);
	compare_numbers(comparison, "peak_bytes", site, peak_a.bytes, peak_b.bytes);
	compare_numbers(comparison, "peak_blocks", site, peak_a.blocks, peak_b.blocks);
	compare_numbers(comparison, "live_bytes", site, a->live_bytes, b->live_bytes);
	compare_numbers(comparison, "live_blocks", site, a->live_blocks, b->live_blocks);
	compare_numbers(comparison, "lifetime_ns", site, a->lifetime_ns, b->lifetime_ns);
	compare_numbers(comparison, "temporary_blocks", site, a->temporary_blocks,
			b->temporary_blocks);
}

static inline void compare_keys(struct comparison *comparison,
				const struct allo_site_keys *expected,
				const struct allo_site_keys *found)
{
	for (size_t i = 1; i < expected->at.len && i < found->at.len; i++) {
		const struct allo_site_key *a = &expected->at.at[i], *b = &found->at.at[i];

		compare_numbers(comparison, "stack of site", i, a->stack, b->stack);
		compare_numbers(comparison, "stream of site", i, a->stream, b->stream);
		compare_numbers(comparison, "labels of site", i, a->labels, b->labels);
		compare_numbers(comparison, "name of site", i, a->name, b->name);
	}
}

static inline void compare_own(struct comparison *comparison,
			       const struct allo_own_events *expected,
			       const struct allo_own_events *found)
{
	compare_numbers(comparison, "own sums", 0, expected->sums.len, found->sums.len);
	compare_keys(comparison, &expected->keys, &found->keys);
	for (size_t i = 1; i < expected->sums.len && i < found->sums.len; i++) {
		compare_numbers(comparison, "own events", i, expected->sums.at[i].events,
				found->sums.at[i].events);
		compare_numbers(comparison, "own units", i, expected->sums.at[i].units,
				found->sums.at[i].units);
	}
}

/* The live memory of a site before the window. */
static inline struct allo_peak before_of(const struct allo_heap *heap, size_t site)
{
	return site < heap->before.len ? heap->before.at[site].live : (struct allo_peak){ 0 };
}

static inline int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The births of the live blocks of a replayed heap, as allo_heap.births has them. */
static inline uint64_t *births_of(const struct allo_heap *heap)
{
	size_t next = 0, *ends = calloc(heap->blocks.stack_count + 1, sizeof(*ends));
	uint64_t *births = calloc((size_t)heap->blocks.count + 1, sizeof(*births));

	if (!ends || !births)
		abort();
	for (size_t i = 0; i < heap->blocks.stack_count; i++) {
		ends[i] = next;
		next += heap->sites[i].live_blocks;
	}
	for (size_t i = 0; i < allo_block_places(&heap->blocks.table); i++) {
		const struct allo_live_block *block = &heap->blocks.table.at[i];

		if (block->pointer != 0)
			births[ends[block->stack]++] = block->birth_ns;
	}
	for (size_t i = 0, first = 0; i < heap->blocks.stack_count; first = ends[i++])
		qsort(births + first, ends[i] - first, sizeof(*births), compare_times);
	free(ends);
	return births;
}

static inline void compare_births(struct comparison *comparison, const struct allo_heap *expected,
				  const struct allo_heap *found)
{
	uint64_t *births = births_of(expected);

	compare_numbers(comparison, "births", 0, expected->blocks.count, found->births.len);
	for (size_t i = 0; i < found->births.len && i < expected->blocks.count; i++)
		compare_numbers(comparison, "birth", i, births[i], found->births.at[i]);
	free(births);
}

static inline void compare_totals(struct comparison *comparison,
				  const struct allo_live_blocks *expected,
				  const struct allo_live_blocks *found)
{
	const struct allo_block_totals a = allo_live_blocks_totals(expected);
	const struct allo_block_totals b = allo_live_blocks_totals(found);
	const struct {
		const char *name;
		uint64_t expected, found;
	} numbers[] = {
		{ "allocations", expected->allocations, found->allocations },
		{ "resizes", expected->resizes, found->resizes },
		{ "frees", expected->frees, found->frees },
		{ "failed_resizes", expected->failed_resizes, found->failed_resizes },
		{ "unknown_frees", expected->unknown_frees, found->unknown_frees },
		{ "late_frees", expected->late_frees, found->late_frees },
		{ "overflows", expected->overflows, found->overflows },
		{ "missing_stacks", expected->missing_stacks, found->missing_stacks },
		{ "partial_stacks", expected->partial_stacks, found->partial_stacks },
		{ "marks", expected->marks, found->marks },
		{ "own_events", expected->own_events, found->own_events },
		{ "own_units", expected->own_units, found->own_units },
		{ "total_bytes", expected->total_bytes, found->total_bytes },
		{ "bytes", expected->bytes, found->bytes },
		{ "count", expected->count, found->count },
		{ "peak_bytes", expected->peak_bytes, found->peak_bytes },
		{ "peak_blocks", expected->peak_blocks, found->peak_blocks },
		{ "peak_ns", expected->peak_ns, found->peak_ns },
		{ "watched", allo_live_blocks_watched(expected), allo_live_blocks_watched(found) },
		{ "estimated allocations", a.allocations, b.allocations },
		{ "estimated bytes", a.total_bytes, b.total_bytes },
		{ "estimated frees", a.frees, b.frees },
		{ "estimated live bytes", a.bytes, b.bytes },
		{ "estimated live blocks", a.blocks, b.blocks },
		{ "estimated peak", a.peak_bytes, b.peak_bytes },
		{ "estimated peak blocks", a.peak_blocks, b.peak_blocks },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		compare_numbers(comparison, numbers[i].name, 0, numbers[i].expected,
				numbers[i].found);
}

/* Compares all numbers; the second heap may know more sites, which must be empty. */
static inline void compare_heaps(struct comparison *comparison, const struct allo_heap *expected,
				 const struct allo_heap *found,
				 const struct allo_heap_options *options)
{
	size_t common = expected->blocks.stack_count < found->blocks.stack_count
				? expected->blocks.stack_count
				: found->blocks.stack_count;

	compare_totals(comparison, &expected->blocks, &found->blocks);
	compare_own(comparison, &expected->own, &found->own);
	compare_numbers(comparison, "ids", 0, expected->ids != NULL, found->ids != NULL);
	compare_numbers(comparison, "long lifetimes", 0, expected->has_long_lifetimes,
			found->has_long_lifetimes);
	if (expected->ids && found->ids)
		compare_keys(comparison, &expected->ids->keys, &found->ids->keys);
	for (size_t i = 0; i < common; i++) {
		struct allo_peak a = before_of(expected, i), b = before_of(found, i);

		compare_sites(comparison, i, expected, found);
		if (expected->weighed && found->weighed)
			compare_weighed_sites(comparison, i, expected, found);
		compare_numbers(comparison, "bytes before", i, a.bytes, b.bytes);
		compare_numbers(comparison, "blocks before", i, a.blocks, b.blocks);
	}
	for (size_t i = common; i < expected->blocks.stack_count; i++)
		compare_numbers(comparison, "site", i, allo_heap_has_site(expected, i), false);
	for (size_t i = common; i < found->blocks.stack_count; i++)
		compare_numbers(comparison, "site", i, false, allo_heap_has_site(found, i));
	if (options->wants_births)
		compare_births(comparison, expected, found);
}

static inline void compare_steps(struct comparison *comparison, size_t index,
				 const struct allo_timeline_step *a,
				 const struct allo_timeline_step *b)
{
	compare_numbers(comparison, "step max_bytes", index, a->max_bytes, b->max_bytes);
	compare_numbers(comparison, "step max_blocks", index, a->max_blocks, b->max_blocks);
	compare_numbers(comparison, "step min_bytes", index, a->min_bytes, b->min_bytes);
	compare_numbers(comparison, "step end_bytes", index, a->end_bytes, b->end_bytes);
	compare_numbers(comparison, "step end_blocks", index, a->end_blocks, b->end_blocks);
	compare_numbers(comparison, "step allocations", index, a->allocations, b->allocations);
	compare_numbers(comparison, "step frees", index, a->frees, b->frees);
	compare_numbers(comparison, "step alloc_bytes", index, a->alloc_bytes, b->alloc_bytes);
	compare_numbers(comparison, "step temporary", index, a->temporary_blocks,
			b->temporary_blocks);
}

static inline void compare_timelines(struct comparison *comparison,
				     const struct allo_timeline *expected,
				     const struct allo_timeline *found)
{
	compare_numbers(comparison, "from_ns", 0, expected->from_ns, found->from_ns);
	compare_numbers(comparison, "step_ns", 0, expected->step_ns, found->step_ns);
	compare_numbers(comparison, "end_ns", 0, expected->end_ns, found->end_ns);
	compare_numbers(comparison, "peak_bytes", 0, expected->peak_bytes, found->peak_bytes);
	compare_numbers(comparison, "peak_blocks", 0, expected->peak_blocks, found->peak_blocks);
	compare_numbers(comparison, "peak_ns", 0, expected->peak_ns, found->peak_ns);
	compare_numbers(comparison, "steps", 0, expected->steps.len, found->steps.len);
	for (size_t i = 0; i < expected->steps.len && i < found->steps.len; i++)
		compare_steps(comparison, i, &expected->steps.at[i], &found->steps.at[i]);
}

#endif
