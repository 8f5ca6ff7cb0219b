/*
 * deep.c - a recursion that allocates in each of its calls: deep CALLS.
 */
#include "blocks.h"

#include <pthread.h>

static long calls;

/* Two functions that call each other, with a block of both in each stack. */
APART static long odd(long depth);

APART static long even(long depth)
{
	void *block = held(malloc((size_t)(100 + depth % 100)));
	long sum = depth < calls ? odd(depth + 1) : 0;

	free(held(block));
	return sum + depth;
}

APART static long odd(long depth)
{
	void *block = held(malloc((size_t)(200 + depth % 100)));
	long sum = depth < calls ? even(depth + 1) : 0;

	free(held(block));
	return sum + depth;
}

static void *run(void *sum)
{
	*(long *)sum = even(1);
	return NULL;
}

int main(int count, char **words)
{
	pthread_attr_t large;
	pthread_t thread;
	long sum = 0;

	calls = count > 1 ? atol(words[1]) : 1000;
	pthread_attr_init(&large);
	pthread_attr_setstacksize(&large, (size_t)256 << 20);
	must(pthread_create(&thread, &large, run, &sum) == 0, "a thread with a large stack starts");
	pthread_join(thread, NULL);
	printf("%ld\n", sum);
	return 0;
}
