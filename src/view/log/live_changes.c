#include "view/log/live_changes.h"

#include "base/defer.h"
#include "view/log/change_log_stored.h"

#include <stdlib.h>

void allo_live_changes_done(struct allo_live_changes *live)
{
	allo_vec_done(&live->bits);
}

bool allo_live_changes_init(struct allo_live_changes *live, struct allo_log_place end,
			    struct allo_error *err)
{
	return allo_vec_extend(&live->bits, (end.segment + 1) * (ALLO_SEGMENT_CHANGES / 64), err);
}

/* All changes before a position that make blocks. */
static void set_made(struct allo_live_changes *live, const struct allo_log_segment *segment,
		     size_t index, uint32_t count)
{
	uint64_t *bits = live->bits.at + index * (ALLO_SEGMENT_CHANGES / 64);

	for (uint32_t i = 0; i < count / 64; i++)
		bits[i] = ~segment->ended[i];
	if (count % 64 != 0)
		bits[count / 64] = ~segment->ended[count / 64] & (((uint64_t)1 << count % 64) - 1);
}

static void clear_ended(struct allo_live_changes *live, const struct allo_log_segment *segment,
			size_t index, uint32_t count)
{
	uint32_t first = (uint32_t)(index * ALLO_SEGMENT_CHANGES);

	for (uint32_t i = 0; i < count; i++) {
		if (allo_log_bit(segment->ended, i))
			allo_live_changes_clear(live, allo_log_made_number(segment, first, i));
	}
}

bool allo_live_changes_at(struct allo_live_changes *live, const struct allo_change_log *log,
			  struct allo_log_place place, struct allo_error *err)
{
	if (!allo_live_changes_init(live, place, err))
		return false;
	for (size_t i = 0; i <= place.segment; i++) {
		const struct allo_log_segment *segment = &log->segments.at[i];
		uint32_t count = i == place.segment ? place.at : segment->shape.count;

		set_made(live, segment, i, count);
		clear_ended(live, segment, i, count);
	}
	return true;
}

bool allo_live_changes_next(const struct allo_live_changes *live, uint32_t *number)
{
	size_t word = *number / 64;
	uint64_t bits;

	if (word >= live->bits.len)
		return false;
	bits = live->bits.at[word] >> *number % 64 << *number % 64;
	while (bits == 0) {
		if (++word >= live->bits.len)
			return false;
		bits = live->bits.at[word];
	}
	*number = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
	return true;
}

static int compare_births(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

bool allo_log_set_births(const struct allo_change_log *log, struct allo_heap *heap,
			 const struct allo_log_birth_place *births, size_t count,
			 struct allo_error *err)
{
	size_t sites = heap->blocks.stack_count, next = 0;
	ALLO_DEFER(allo_free_pointer) size_t *ends = calloc(sites + 1, sizeof(*ends));

	heap->births.len = 0;
	if (!ends || !allo_vec_cover(&heap->births, count))
		return allo_fail_memory(err);
	heap->births.len = count;
	for (size_t i = 0; i < count; i++)
		ends[births[i].site]++;
	for (size_t i = 0; i < sites; i++) {
		size_t live = ends[i];

		if (live != heap->sites[i].live_blocks)
			return allo_log_fail_damaged(log, err);
		ends[i] = next;
		next += live;
	}
	for (size_t i = 0; i < count; i++)
		heap->births.at[ends[births[i].site]++] = births[i].birth_ns;
	for (size_t i = 0; i < sites; i++) {
		size_t live = heap->sites[i].live_blocks;

		if (live > 1)
			qsort(heap->births.at + ends[i] - live, live, sizeof(*heap->births.at),
			      compare_births);
	}
	return true;
}
