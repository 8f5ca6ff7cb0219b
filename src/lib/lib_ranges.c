/* lib_ranges.c - see lib_ranges.h. */
#include "lib/lib_ranges.h"

#include "base/assert.h"
#include "base/sorted.h"

void allo_ranges_done(struct allo_ranges *ranges)
{
	allo_vec_done(&ranges->list);
}

/* The index of the first range that ends behind the address. */
static size_t first_behind(const struct allo_ranges *ranges, uint64_t address)
{
	return allo_sorted_up_to(ranges->list.at, ranges->list.len, limit, address);
}

allo_module_id allo_ranges_find(const struct allo_ranges *ranges, uint64_t address)
{
	size_t i = first_behind(ranges, address);

	if (i == ranges->list.len || ranges->list.at[i].start > address)
		return 0;
	return ranges->list.at[i].module;
}

bool allo_ranges_put(struct allo_ranges *ranges, const struct allo_module_range *range)
{
	size_t first = first_behind(ranges, range->start), end = first, count = 0;
	struct allo_module_range put[3]; /* with the rest of the first and last one in the way */
	struct allo_module_range *list;

	ALLO_ASSERT(range->start < range->limit && range->module != 0);
	if (!allo_vec_reserve(&ranges->list, 2))
		return false;
	list = ranges->list.at;
	while (end < ranges->list.len && list[end].start < range->limit)
		end++;
	if (first < end && list[first].start < range->start)
		put[count++] = (struct allo_module_range){ list[first].start, range->start,
							   list[first].module };
	put[count++] = *range;
	if (first < end && list[end - 1].limit > range->limit)
		put[count++] = (struct allo_module_range){ range->limit, list[end - 1].limit,
							   list[end - 1].module };
	memmove(list + first + count, list + end, (ranges->list.len - end) * sizeof(*list));
	memcpy(list + first, put, count * sizeof(*list));
	ranges->list.len = ranges->list.len - (end - first) + count;
	ALLO_ASSERT(first == 0 || list[first - 1].limit <= list[first].start);
	ALLO_ASSERT(first + count == ranges->list.len ||
		    list[first + count - 1].limit <= list[first + count].start);
	return true;
}
