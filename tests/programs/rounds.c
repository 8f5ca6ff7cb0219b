/*
 * rounds.c - the same action again and again, with a mark before each: rounds MOST
 *
 * Each round leaks a block (repeats), every second one leaves another (sometimes), and the first
 * one fills a cache.
 */
#include "blocks.h"

#include <allo.h>

APART static void repeats(unsigned round)
{
	held(malloc(1000 + round));
	stay();
}

APART static void sometimes(unsigned round)
{
	if (round % 2)
		held(malloc(500));
	stay();
}

APART static void fill_cache(unsigned round)
{
	if (round == 0)
		held(malloc(70000));
	stay();
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 4;

	held(malloc(300));
	for (unsigned i = 0; i < rounds; i++) {
		allo_mark("round");
		fill_cache(i);
		repeats(i);
		sometimes(i);
		free(held(malloc(40)));
		/* The clock goes on. */
		for (volatile int turn = 0; turn < 5000000; turn++)
			;
	}
	allo_mark("done");
	return 0;
}
