/*
 * paths.c - a stack for each path through a binary tree: paths DEPTH ROUNDS.
 */
#include "blocks.h"

static void descend(unsigned path, long depth);

/* Each bit of a path is one of two callers. */
APART static void left(unsigned path, long depth)
{
	descend(path, depth);
	stay();
}

APART static void right(unsigned path, long depth)
{
	descend(path, depth);
	stay();
}

APART static void descend(unsigned path, long depth)
{
	if (depth == 0)
		free(held(malloc(16 + path % 8)));
	else if (path & 1)
		left(path >> 1, depth - 1);
	else
		right(path >> 1, depth - 1);
	stay();
}

int main(int count, char **words)
{
	long depth = count > 2 ? atol(words[1]) : 0, rounds = count > 2 ? atol(words[2]) : 0;

	for (long round = 0; round < rounds; round++) {
		for (unsigned path = 0; path < 1U << depth; path++)
			descend(path, depth);
	}
}
