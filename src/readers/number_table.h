/*
 * number_table.h - from the numbers that a file gives its things to our ids.
 *
 * Nearly all files count from 1, but none has to.
 */
#ifndef ALLO_READERS_NUMBER_TABLE_H
#define ALLO_READERS_NUMBER_TABLE_H

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

/* All zeros is empty. */
struct allo_number_table {
	ALLO_VEC(uint32_t) small; /* ids by number; 0: none */
	struct allo_map map;      /* of the other numbers, to indices of `large` + 1 */
	ALLO_VEC(struct allo_large_number {
		uint64_t number;
		uint32_t id;
	})
	large;
};

void allo_number_table_done(struct allo_number_table *table);

/* For a number that has no id yet; false when memory is short. */
bool allo_number_table_put(struct allo_number_table *table, uint64_t number, uint32_t id);

uint32_t allo_number_table_find_large(const struct allo_number_table *table, uint64_t number);

/* Our id, or 0 when the file has nothing of that number. */
static inline uint32_t allo_number_table_find(const struct allo_number_table *table,
					      uint64_t number)
{
	return number < table->small.len ? table->small.at[number]
					 : allo_number_table_find_large(table, number);
}

#endif
