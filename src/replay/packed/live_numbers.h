/*
 * live_numbers.h - which of a stack's blocks are live, by the numbers they have been given.
 *
 * A block is found by how many live ones are between it and the one that ended last: that is a
 * smaller number than the difference of theirs, and where a program gives back what it has made
 * together, the same one for the blocks of several stacks.
 *
 * Numbers follow on each other, modulo 2^32.  The last ones are kept, at least as many as it takes
 * for all that are live, but no more than ALLO_NUMBERS_KEPT: older ones are as if they had ended.
 */
#ifndef ALLO_REPLAY_LIVE_NUMBERS_H
#define ALLO_REPLAY_LIVE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ALLO_NUMBERS_GROUP = 512,
	ALLO_NUMBERS_KEPT = 1 << 16, /* 8 KiB */
};

/* All zeros: none. */
struct allo_live_numbers {
	uint64_t *ended; /* a ring of bits, by number; then how many are set, group by group */
	uint32_t capacity;
	uint32_t first, next; /* those that are kept: from the former up to the latter */
	uint32_t last;        /* that has ended; may be the one before the first */
	uint32_t live, after; /* how many; of them, those behind the last one that has ended */
};

void allo_live_numbers_done(struct allo_live_numbers *numbers);

/* The next number; false when memory is short. */
bool allo_live_numbers_add(struct allo_live_numbers *numbers, uint32_t number);

/* Whether it is kept, and live. */
static inline bool allo_live_numbers_has(const struct allo_live_numbers *numbers, uint32_t number)
{
	return number - numbers->first < numbers->next - numbers->first &&
	       !(numbers->ended[(number & (numbers->capacity - 1)) / 64] >> number % 64 & 1);
}

/* The way from the one that ended last to a live one. */
struct allo_number_way {
	bool is_back;
	uint32_t passed; /* live ones on the way */
};

struct allo_number_way allo_live_numbers_way(const struct allo_live_numbers *numbers,
					     uint32_t number);

/* How many live ones there are in a direction. */
static inline uint32_t allo_live_numbers_side(const struct allo_live_numbers *numbers, bool is_back)
{
	return is_back ? numbers->live - numbers->after : numbers->after;
}

/* Where a way leads to that passes fewer than there are. */
uint32_t allo_live_numbers_at(const struct allo_live_numbers *numbers, struct allo_number_way way);

/* The next one, if there is any: nearly always the one behind the last one that has ended. */
static inline uint32_t allo_live_numbers_next(const struct allo_live_numbers *numbers)
{
	uint32_t number = numbers->last + 1;

	return allo_live_numbers_has(numbers, number)
		       ? number
		       : allo_live_numbers_at(numbers, (struct allo_number_way){ 0 });
}

/* The one at the end of a way has ended. */
void allo_live_numbers_end(struct allo_live_numbers *numbers, uint32_t number,
			   struct allo_number_way way);

#endif
