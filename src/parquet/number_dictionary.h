/*
 * number_dictionary.h - the distinct values of a column, in the order of their first occurrence.
 */
#ifndef ALLO_PARQUET_NUMBER_DICTIONARY_H
#define ALLO_PARQUET_NUMBER_DICTIONARY_H

#include "base/vec.h"

/* All zeros is empty.  It can be filled any number of times. */
struct allo_number_dictionary {
	ALLO_VEC(int64_t) values;
	ALLO_VEC(uint32_t) indexes; /* by row that was added last: in `values` */

	/* Private: a hash table of indexes + 1. */
	uint32_t *slots;
	size_t room; /* slots that are allocated */
	unsigned bits;
};

/* Adds values, and finds the indexes of those.  False if there are more than `most` distinct
 * values, or no memory: clear it then. */
bool allo_number_dictionary_fill(struct allo_number_dictionary *dictionary, const int64_t *numbers,
				 size_t count, size_t most);

static inline void allo_number_dictionary_clear(struct allo_number_dictionary *dictionary)
{
	dictionary->values.len = dictionary->indexes.len = 0;
}

void allo_number_dictionary_done(struct allo_number_dictionary *dictionary);

#endif
