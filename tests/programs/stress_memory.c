/*
 * stress_memory.c - runs out of memory and goes on.
 *
 * The limit is 64 MiB above its current size.  When nothing is left, new stacks come, and a thread
 * that began before allocates for the first time.
 */
#include "blocks.h"

#include <pthread.h>
#include <sys/resource.h>

enum { MOST = 4096 };

static void *blocks[MOST];
static pthread_barrier_t is_full, is_through;

static void limit_memory(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	struct rlimit limit;

	must(file != NULL && fscanf(file, "%lu", &pages) == 1, "the kernel tells our size");
	fclose(file);
	limit.rlim_cur = limit.rlim_max = pages * 4096 + ((rlim_t)64 << 20);
	must(setrlimit(RLIMIT_AS, &limit) == 0, "there is a limit");
}

APART static int take_all(size_t size)
{
	int count = 0;

	while (count < MOST && (blocks[count] = held(malloc(size))) != NULL)
		count++;
	return count;
}

APART static void deeper(int depth, size_t size)
{
	free(held(malloc(size)));
	if (depth > 0)
		deeper(depth - 1, size);
	stay();
}

static void *late(void *argument)
{
	pthread_barrier_wait(&is_full);
	deeper(300, 1009);
	pthread_barrier_wait(&is_through);
	return argument;
}

int main(void)
{
	pthread_t thread;

	pthread_barrier_init(&is_full, NULL, 2);
	pthread_barrier_init(&is_through, NULL, 2);
	must(pthread_create(&thread, NULL, late, NULL) == 0, "a thread starts");
	limit_memory();
	for (int round = 0; round < 5; round++) {
		int count = take_all((size_t)1 << 18);

		must(count > 8 && count < MOST, "memory ends");
		must(realloc(blocks[0], (size_t)1 << 26) == NULL, "there is no more");
		deeper(300 + round, 2003);
		if (round == 0) {
			pthread_barrier_wait(&is_full);
			pthread_barrier_wait(&is_through);
		}
		for (int i = 0; i < count; i++)
			free(blocks[i]);
	}
	pthread_join(thread, NULL);
	puts("survived");
	return 0;
}
