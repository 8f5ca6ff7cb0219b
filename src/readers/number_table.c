/* number_table.c - see number_table.h. */
#include "readers/number_table.h"

enum { SMALL_NUMBERS = 1 << 20 };

void allo_number_table_done(struct allo_number_table *table)
{
	allo_vec_done(&table->small);
	allo_vec_done(&table->large);
	allo_map_done(&table->map);
}

static uint64_t hash_of(uint64_t number)
{
	return allo_hash_pair(number, 1, allo_hash_seed());
}

bool allo_number_table_put(struct allo_number_table *table, uint64_t number, uint32_t id)
{
	struct allo_large_number large = { number, id };

	if (number >= SMALL_NUMBERS)
		return allo_vec_append(&table->large, &large, 1) &&
		       allo_map_put(&table->map, hash_of(number), (uint32_t)table->large.len);
	if (!allo_vec_cover(&table->small, number + 1))
		return false;
	table->small.at[number] = id;
	return true;
}

uint32_t allo_number_table_find_large(const struct allo_number_table *table, uint64_t number)
{
	struct allo_probe probe = allo_map_probe(&table->map, hash_of(number));
	uint32_t index;

	while ((index = allo_map_next(&table->map, &probe)) != 0) {
		if (table->large.at[index - 1].number == number)
			return table->large.at[index - 1].id;
	}
	return 0;
}
