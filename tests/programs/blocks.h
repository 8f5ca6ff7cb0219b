/*
 * blocks.h - shared by the programs under capture: functions that stay functions, blocks that stay
 * blocks.
 */
#ifndef ALLO_PROGRAMS_BLOCKS_H
#define ALLO_PROGRAMS_BLOCKS_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function that is not inlined and has its own frame. */
#define APART __attribute__((noinline, noclone))

/* The compiler cannot see through it, so it removes neither malloc() nor free(). */
static inline void *held(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

/* At the end of a function: the call before it is no tail call, so the frame stays. */
static inline void stay(void)
{
	__asm__ volatile("" : : : "memory");
}

/* A claim about the program itself: it ends here when the claim is wrong. */
static inline void must(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "wrong: %s\n", what);
		fflush(stderr);
		_Exit(99);
	}
}

/* Blocks whose bytes say whose they are. */
static inline void *filled(size_t size, int byte)
{
	void *block = held(malloc(size));

	must(block != NULL, "there is memory");
	memset(block, byte, size);
	return block;
}

static inline void must_be_filled(const void *block, size_t size, int byte)
{
	const unsigned char *bytes = (const unsigned char *)block;

	for (size_t i = 0; i < size; i++)
		must(bytes[i] == (unsigned char)byte, "a block holds what was put there");
}

#endif
