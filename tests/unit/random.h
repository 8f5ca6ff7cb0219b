/*
 * random.h - numbers that look random and are the same in every run.
 */
#ifndef ALLO_TESTS_RANDOM_H
#define ALLO_TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* From 0 up to, but without, `below`; `state` starts as anything. */
static inline uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 33) % below);
}

static inline uint64_t draw_u64(uint64_t *state)
{
	return (uint64_t)draw(state, 1u << 31) << 33 ^ (uint64_t)draw(state, 1u << 31) << 16 ^
	       draw(state, 1u << 31);
}

/* Words that repeat themselves now and then, as profiles do. */
static inline void draw_text(uint64_t *state, char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		text[i] = i > 100 && draw(state, 8) ? text[i - 1 - draw(state, 100)]
						    : (char)('a' + draw(state, 26));
}

#endif
