/* number_dictionary.c - see number_dictionary.h. */
#include "parquet/number_dictionary.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BITS = 10 };

static bool clear_slots(struct allo_number_dictionary *dictionary, unsigned bits)
{
	size_t count = (size_t)1 << bits;

	if (count > dictionary->room) {
		uint32_t *slots = realloc(dictionary->slots, count * sizeof(*slots));

		if (!slots)
			return false;
		dictionary->slots = slots;
		dictionary->room = count;
	}
	memset(dictionary->slots, 0, count * sizeof(*dictionary->slots));
	dictionary->bits = bits;
	return true;
}

/* The slot of a value, or the free one where it belongs. */
static inline uint32_t *find(const struct allo_number_dictionary *dictionary, int64_t number,
			     uint64_t seed)
{
	size_t mask = ((size_t)1 << dictionary->bits) - 1;
	size_t at = allo_hash_pair((uint64_t)number, 0, seed) >> (64 - dictionary->bits);

	while (dictionary->slots[at] && dictionary->values.at[dictionary->slots[at] - 1] != number)
		at = (at + 1) & mask;
	return &dictionary->slots[at];
}

static bool grow(struct allo_number_dictionary *dictionary, uint64_t seed)
{
	if (!clear_slots(dictionary, dictionary->bits + 2))
		return false;
	for (size_t i = 0; i < dictionary->values.len; i++)
		*find(dictionary, dictionary->values.at[i], seed) = (uint32_t)i + 1;
	return true;
}

/* The index of a value, counted from 1; 0 when out of memory. */
static uint32_t add(struct allo_number_dictionary *dictionary, uint32_t *slot, int64_t number,
		    uint64_t seed)
{
	if (!allo_vec_append(&dictionary->values, &number, 1))
		return 0;
	*slot = (uint32_t)dictionary->values.len;
	if (dictionary->values.len * 2 > (size_t)1 << dictionary->bits && !grow(dictionary, seed))
		return 0;
	return (uint32_t)dictionary->values.len;
}

bool allo_number_dictionary_fill(struct allo_number_dictionary *dictionary, const int64_t *numbers,
				 size_t count, size_t most)
{
	uint64_t seed = allo_hash_seed();
	uint32_t index = 0;

	dictionary->indexes.len = 0;
	if (!allo_vec_reserve(&dictionary->indexes, count) ||
	    (dictionary->values.len == 0 && !clear_slots(dictionary, FIRST_BITS)))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t *slot;

		if (i == 0 || numbers[i] != numbers[i - 1]) {
			slot = find(dictionary, numbers[i], seed);
			if (!*slot && dictionary->values.len == most)
				return false;
			index = *slot ? *slot : add(dictionary, slot, numbers[i], seed);
			if (index == 0)
				return false;
		}
		dictionary->indexes.at[i] = index - 1;
	}
	dictionary->indexes.len = count;
	return true;
}

void allo_number_dictionary_done(struct allo_number_dictionary *dictionary)
{
	allo_vec_done(&dictionary->values);
	allo_vec_done(&dictionary->indexes);
	free(dictionary->slots);
	*dictionary = (struct allo_number_dictionary){ 0 };
}
