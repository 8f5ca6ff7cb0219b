/*
 * stress_recursion.c - allocates 200,000 frames deep, and at each thousandth frame on the way
 * there.
 */
#include "blocks.h"

#include <pthread.h>

enum { DEPTH = 200000 };

APART static long descend(int depth)
{
	long sum = depth;

	if (depth % 1000 == 0)
		free(filled(1009, depth));
	if (depth < DEPTH)
		sum += descend(depth + 1);
	stay();
	return sum;
}

static void *run(void *argument)
{
	*(long *)argument = descend(1);
	return NULL;
}

int main(void)
{
	pthread_attr_t large;
	pthread_t thread;
	long sum = 0;

	pthread_attr_init(&large);
	pthread_attr_setstacksize(&large, (size_t)256 << 20);
	must(pthread_create(&thread, &large, run, &sum) == 0, "a thread with a large stack starts");
	pthread_join(thread, NULL);
	printf("%ld\n", sum);
	return 0;
}
