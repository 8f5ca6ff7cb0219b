/*
 * live_numbers.h - the set of live blocks of one stack, as a bitmap of their numbers.
 *
 * A block is coded by the number of live blocks between it and the one that ended last.  That is
 * smaller than the difference of their numbers.  If a program frees together the blocks that it
 * allocated together, it is the same for the blocks of several stacks.
 *
 * Numbers are consecutive, modulo 2^32.  The bitmap covers all live blocks, but at most the last
 * ALLO_NUMBERS_KEPT numbers: older blocks are treated as ended.
 */
#ifndef ALLO_REPLAY_LIVE_NUMBERS_H
#define ALLO_REPLAY_LIVE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ALLO_NUMBERS_GROUP = 512,
	ALLO_NUMBERS_KEPT = 1 << 16, /* 8 KiB */
};

/* All zeros is empty. */
struct allo_live_numbers {
	uint64_t *ended; /* a ring of bits, by number; then the count of set bits of each group */
	uint32_t capacity;
	uint32_t first, next; /* the bitmap covers [first, next) */
	uint32_t last;        /* number that ended last; may be first - 1 */
	uint32_t live, after; /* live numbers; those greater than `last` */
};

void allo_live_numbers_done(struct allo_live_numbers *numbers);

/* Adds the next number; false when memory is short. */
bool allo_live_numbers_add(struct allo_live_numbers *numbers, uint32_t number);

/* Whether a number is covered and live. */
static inline bool allo_live_numbers_has(const struct allo_live_numbers *numbers, uint32_t number)
{
	return number - numbers->first < numbers->next - numbers->first &&
	       !(numbers->ended[(number & (numbers->capacity - 1)) / 64] >> number % 64 & 1);
}

/* The way from the number that ended last to a live one. */
struct allo_number_way {
	bool is_back;
	uint32_t passed; /* live numbers on the way */
};

struct allo_number_way allo_live_numbers_way(const struct allo_live_numbers *numbers,
					     uint32_t number);

/* The number of live ones in a direction. */
static inline uint32_t allo_live_numbers_side(const struct allo_live_numbers *numbers, bool is_back)
{
	return is_back ? numbers->live - numbers->after : numbers->after;
}

/* The number at the end of a way.  way.passed is less than allo_live_numbers_side(). */
uint32_t allo_live_numbers_at(const struct allo_live_numbers *numbers, struct allo_number_way way);

/* The next live number after `last`; there must be one.  Nearly always it is last + 1. */
static inline uint32_t allo_live_numbers_next(const struct allo_live_numbers *numbers)
{
	uint32_t number = numbers->last + 1;

	return allo_live_numbers_has(numbers, number)
		       ? number
		       : allo_live_numbers_at(numbers, (struct allo_number_way){ 0 });
}

/* Removes the number at the end of a way. */
void allo_live_numbers_end(struct allo_live_numbers *numbers, uint32_t number,
			   struct allo_number_way way);

#endif
