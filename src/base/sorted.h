/*
 * sorted.h - binary search in an array that is sorted by a uint64_t field.
 *
 *     lines[allo_sorted_below(lines, count, address, wanted)]     the first line at or after
 *                                                                 `wanted`, if any
 */
#ifndef ALLO_BASE_SORTED_H
#define ALLO_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* Number of items whose `field` is less than a number, or less than or equal to it. */
#define allo_sorted_below(items, count, field, number)                                             \
	allo_sorted_count((items), (count), sizeof(*(items)),                                      \
			  _Generic((items)->field, uint64_t                                        \
				   : offsetof(__typeof__(*(items)), field)),                       \
			  (number))
#define allo_sorted_up_to(items, count, field, number)                                             \
	((number) == UINT64_MAX ? (count) : allo_sorted_below(items, count, field, (number) + 1))

static inline size_t allo_sorted_count(const void *items, size_t count, size_t item, size_t offset,
				       uint64_t below)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (*(const uint64_t *)((const char *)items + middle * item + offset) < below)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
