/*
 * handover.c - four threads in a ring: each makes blocks that the next one frees.
 *
 * Thread i, named "maker-i", makes 23 + i blocks of 2003 + i bytes.
 */
#include "blocks.h"

#include <pthread.h>

enum { THREADS = 4, MOST = 23 + THREADS };

static void *blocks[THREADS][MOST];
static pthread_barrier_t all_made;

APART static void make(int number)
{
	for (int i = 0; i < 23 + number; i++)
		blocks[number][i] = filled((size_t)(2003 + number), number);
	stay();
}

APART static void take(int number)
{
	for (int i = 0; i < 23 + number; i++) {
		must_be_filled(blocks[number][i], (size_t)(2003 + number), number);
		free(blocks[number][i]);
	}
	stay();
}

static void *run(void *argument)
{
	int number = (int)(size_t)argument;
	char name[16];

	snprintf(name, sizeof(name), "maker-%d", number);
	pthread_setname_np(pthread_self(), name);
	make(number);
	pthread_barrier_wait(&all_made);
	take((number + 1) % THREADS);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all_made, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, run, (void *)i) == 0, "a thread starts");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
