/*
 * stacks.c - many deep call stacks: stacks LEVELS BLOCKS
 *
 * Each block has one of 2^LEVELS stacks, in turn.  Every function that a stack passes is one of
 * two, and a block comes through wrappers of malloc.
 */
#include <stdint.h>
#include <stdlib.h>

enum { WRAPPERS = 3, KEPT = 4096 };

static void *kept[KEPT];

static __attribute__((noinline)) void *xmalloc(size_t size, int wrappers)
{
	void *block = wrappers > 0 ? xmalloc(size, wrappers - 1) : malloc(size);

	__asm__ volatile("" : : : "memory");
	return block;
}

static void descend(uint64_t path, int levels);

#define TURN(name)                                                                                 \
	static __attribute__((noinline)) void name(uint64_t path, int levels)                      \
	{                                                                                          \
		descend(path >> 1, levels - 1);                                                    \
		__asm__ volatile("" : : : "memory");                                               \
	}

TURN(left)
TURN(right)

static __attribute__((noinline)) void descend(uint64_t path, int levels)
{
	static uint64_t count;
	void **slot;

	if (levels > 0) {
		(path & 1 ? left : right)(path, levels);
	} else {
		slot = &kept[count++ % KEPT];
		free(*slot);
		*slot = xmalloc(16 + count % 8 * 16, WRAPPERS);
	}
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	for (long i = 0; i < atol(argv[2]); i++)
		descend((uint64_t)i, atoi(argv[1]));
	return 0;
}
