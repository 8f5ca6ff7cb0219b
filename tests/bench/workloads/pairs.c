/*
 * pairs.c - malloc() and free() in turns, at a depth: pairs DEPTH FRESH PAIRS
 *
 * FRESH frames are entered and left with each pair, through functions chosen at random.
 */
#include <stdint.h>
#include <stdlib.h>

static long pairs;
static int fresh;

typedef void *maker(int left, size_t size);
static maker *const makers[8];

static inline void *held(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

#define MAKER(n)                                                                                   \
	static __attribute__((noinline)) void *make_##n(int left, size_t size)                     \
	{                                                                                          \
		if (left <= 1)                                                                     \
			return held(malloc(size + n));                                             \
		return held(makers[(n * 5 + left) & 7](left - 1, size));                           \
	}

MAKER(0)
MAKER(1)
MAKER(2)
MAKER(3)
MAKER(4)
MAKER(5)
MAKER(6)
MAKER(7)

static maker *const makers[8] = { make_0, make_1, make_2, make_3, make_4, make_5, make_6, make_7 };

static __attribute__((noinline)) void allocate(void)
{
	uint32_t random = 12345;

	for (long i = 0; i < pairs; i++) {
		if (fresh == 0) {
			free(held(malloc(48)));
		} else {
			random = random * 1664525u + 1013904223u;
			free(makers[random >> 20 & 7](fresh, 48));
		}
	}
}

static __attribute__((noinline)) int descend(int depth)
{
	volatile int room[6] = { depth };

	if (depth > 0)
		descend(depth - 1);
	else
		allocate();
	return room[0];
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	fresh = atoi(argv[2]);
	pairs = atol(argv[3]);
	return descend(atoi(argv[1])) < 0;
}
