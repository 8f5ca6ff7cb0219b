#include "replay/packed/live_numbers.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP = ALLO_NUMBERS_GROUP, GROUP_BYTES = GROUP / 8 };

void allo_live_numbers_done(struct allo_live_numbers *numbers)
{
	free(numbers->ended);
	*numbers = (struct allo_live_numbers){ 0 };
}

static uint32_t place_of(const struct allo_live_numbers *numbers, uint32_t number)
{
	return number & (numbers->capacity - 1);
}

static uint64_t *word_of(const struct allo_live_numbers *numbers, uint32_t number)
{
	return &numbers->ended[place_of(numbers, number) / 64];
}

/* The count of ended numbers in the group of a number. */
static uint16_t *count_of(const struct allo_live_numbers *numbers, uint32_t number)
{
	uint16_t *counts = (uint16_t *)(numbers->ended + numbers->capacity / 64);

	return &counts[place_of(numbers, number) / GROUP];
}

/* The count of live numbers of a complete group. */
static uint32_t live_in_group(const struct allo_live_numbers *numbers, uint32_t number)
{
	return GROUP - (uint32_t)*count_of(numbers, number);
}

static bool grow(struct allo_live_numbers *numbers)
{
	struct allo_live_numbers larger = *numbers;

	larger.capacity = numbers->capacity ? 2 * numbers->capacity : GROUP;
	larger.ended = calloc(larger.capacity / GROUP, GROUP_BYTES + sizeof(uint16_t));
	if (!larger.ended)
		return false;
	for (uint32_t at = numbers->first; at != numbers->next; at += GROUP) {
		memcpy(word_of(&larger, at), word_of(numbers, at), GROUP_BYTES);
		*count_of(&larger, at) = *count_of(numbers, at);
	}
	free(numbers->ended);
	*numbers = larger;
	return true;
}

/* Drops the oldest group. */
static void forget(struct allo_live_numbers *numbers)
{
	ALLO_ASSERT(numbers->live >= live_in_group(numbers, numbers->first));
	numbers->live -= live_in_group(numbers, numbers->first);
	numbers->first += GROUP;
	if ((int32_t)(numbers->last - numbers->first) < -1) {
		numbers->last = numbers->first - 1;
		numbers->after = numbers->live;
	}
}

/* Makes room for a group that starts with `next`. */
static bool add_group(struct allo_live_numbers *numbers)
{
	if (numbers->next - numbers->first == numbers->capacity) {
		if (numbers->capacity == 0 || (*count_of(numbers, numbers->first) < GROUP &&
					       numbers->capacity < ALLO_NUMBERS_KEPT)) {
			if (!grow(numbers))
				return false;
		} else {
			forget(numbers);
		}
	}
	memset(word_of(numbers, numbers->next), 0, GROUP_BYTES);
	*count_of(numbers, numbers->next) = 0;
	return true;
}

/* Starts with the first number.  The numbers before it in its group count as ended. */
static bool begin(struct allo_live_numbers *numbers, uint32_t number)
{
	numbers->first = numbers->next = number - number % GROUP;
	if (!add_group(numbers))
		return false;
	for (; numbers->next != number; numbers->next++)
		*word_of(numbers, numbers->next) |= (uint64_t)1 << numbers->next % 64;
	*count_of(numbers, numbers->first) = number % GROUP;
	numbers->last = number - 1;
	return true;
}

bool allo_live_numbers_add(struct allo_live_numbers *numbers, uint32_t number)
{
	if (__builtin_expect(numbers->capacity == 0, 0)) {
		if (!begin(numbers, number))
			return false;
	} else if (number % GROUP == 0 && !add_group(numbers)) {
		return false;
	}
	ALLO_ASSERT(numbers->next == number && number - numbers->first < numbers->capacity);
	numbers->next = number + 1;
	numbers->live++;
	numbers->after++;
	return true;
}

/* Functions that count bits are compiled twice: with the instruction popcnt, and without it for old
 * processors. */
#define INLINE static inline __attribute__((always_inline))

/* The number of live ones in [from, from + count). */
INLINE uint32_t live_among(const struct allo_live_numbers *numbers, uint32_t from, uint32_t count)
{
	uint32_t live = count, step;

	for (; count > 0; from += step, count -= step) {
		uint64_t word;

		if (from % GROUP == 0 && count >= GROUP) {
			live -= *count_of(numbers, from);
			step = GROUP;
			continue;
		}
		step = 64 - from % 64;
		word = *word_of(numbers, from) >> from % 64;
		if (count < step) {
			step = count;
			word &= ((uint64_t)1 << step) - 1;
		}
		live -= (uint32_t)__builtin_popcountll(word);
	}
	return live;
}

INLINE struct allo_number_way way_to(const struct allo_live_numbers *numbers, uint32_t number)
{
	uint32_t last = numbers->last;
	bool is_back = (int32_t)(number - last) < 0;

	return (struct allo_number_way){
		is_back, is_back ? live_among(numbers, number + 1, last - number - 1)
				 : live_among(numbers, last + 1, number - last - 1)
	};
}

INLINE uint32_t find_ahead(const struct allo_live_numbers *numbers, uint32_t passed)
{
	uint32_t at = numbers->last + 1;

	for (;;) {
		uint64_t word = ~*word_of(numbers, at) >> at % 64;
		uint32_t live = (uint32_t)__builtin_popcountll(word);

		if (live > passed) {
			for (; passed > 0; passed--)
				word &= word - 1;
			return at + (uint32_t)__builtin_ctzll(word);
		}
		passed -= live;
		at += 64 - at % 64;
		for (; at % GROUP == 0 && live_in_group(numbers, at) <= passed; at += GROUP)
			passed -= live_in_group(numbers, at);
	}
}

INLINE uint32_t find_back(const struct allo_live_numbers *numbers, uint32_t passed)
{
	uint32_t at = numbers->last - 1;

	for (;;) {
		uint64_t word = ~*word_of(numbers, at) << (63 - at % 64);
		uint32_t live = (uint32_t)__builtin_popcountll(word);

		if (live > passed) {
			for (; passed > 0; passed--)
				word ^= (uint64_t)1 << (63 - __builtin_clzll(word));
			return at - (uint32_t)__builtin_clzll(word);
		}
		passed -= live;
		at -= at % 64 + 1;
		for (; at % GROUP == GROUP - 1 && live_in_group(numbers, at) <= passed; at -= GROUP)
			passed -= live_in_group(numbers, at);
	}
}

INLINE uint32_t find(const struct allo_live_numbers *numbers, struct allo_number_way way)
{
	return way.is_back ? find_back(numbers, way.passed) : find_ahead(numbers, way.passed);
}

#if defined(__x86_64__)
#define QUICK static __attribute__((target("popcnt")))

QUICK struct allo_number_way way_to_quickly(const struct allo_live_numbers *numbers,
					    uint32_t number)
{
	return way_to(numbers, number);
}

QUICK uint32_t find_quickly(const struct allo_live_numbers *numbers, struct allo_number_way way)
{
	return find(numbers, way);
}

static bool is_quick(void)
{
	return __builtin_cpu_supports("popcnt");
}
#else
#define way_to_quickly way_to
#define find_quickly   find

static bool is_quick(void)
{
	return true;
}
#endif

struct allo_number_way allo_live_numbers_way(const struct allo_live_numbers *numbers,
					     uint32_t number)
{
	return is_quick() ? way_to_quickly(numbers, number) : way_to(numbers, number);
}

uint32_t allo_live_numbers_at(const struct allo_live_numbers *numbers, struct allo_number_way way)
{
	ALLO_ASSERT(way.passed < allo_live_numbers_side(numbers, way.is_back));
	return is_quick() ? find_quickly(numbers, way) : find(numbers, way);
}

void allo_live_numbers_end(struct allo_live_numbers *numbers, uint32_t number,
			   struct allo_number_way way)
{
	ALLO_ASSERT(allo_live_numbers_has(numbers, number) && numbers->live > 0);
	*word_of(numbers, number) |= (uint64_t)1 << number % 64;
	++*count_of(numbers, number);
	numbers->last = number;
	numbers->live--;
	if (way.is_back)
		numbers->after += way.passed;
	else
		numbers->after -= way.passed + 1;
	ALLO_ASSERT(numbers->after <= numbers->live);
}
