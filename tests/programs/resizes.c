/*
 * resizes.c - 13 blocks grow from 101 bytes by 17 at a time, 31 times, and then shrink to 50.
 *
 * They grow in turns, so that most cannot do it where they are.
 */
#include "blocks.h"

enum { BLOCKS = 13, STEPS = 31 };

static char *blocks[BLOCKS];

APART static void grow(int block, size_t size)
{
	blocks[block] = held(realloc(blocks[block], size));
	must(blocks[block] != NULL, "a block grows");
	blocks[block][size - 1] = (char)block;
}

APART static void shrink(int block)
{
	blocks[block] = held(realloc(blocks[block], 50));
	must_be_filled(blocks[block], 50, block);
}

int main(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = filled(101, i);
	for (size_t step = 1; step <= STEPS; step++) {
		for (int i = 0; i < BLOCKS; i++)
			grow(i, 101 + 17 * step);
	}
	for (int i = 0; i < BLOCKS; i++)
		shrink(i);
	/* Six stay. */
	for (int i = 6; i < BLOCKS; i++)
		free(blocks[i]);
	return 0;
}
