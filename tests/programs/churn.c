/*
 * churn.c - blocks of many sizes that come, change and go in an order that looks random.
 *     churn THREADS EVENTS [forever]
 * The same calls each time; with no threads main() makes them.  Threads free some of each other's
 * blocks.  With "forever" it prints its process number and runs until it is killed.
 */
#include "blocks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum { WINDOW = 512, MAX_THREADS = 64 };

struct worker {
	uint64_t random;
	long left;
	int number;
	void *window[WINDOW];
};

static _Atomic(void *) shared[256];
static struct worker workers[MAX_THREADS];
static long rounds = 1;

static uint64_t next_random(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

APART static void *fresh(size_t size)
{
	char *block = held(malloc(size));

	must(block != NULL, "there is memory");
	*block = 1;
	return block;
}

APART static void *resized(void *block, size_t size)
{
	return held(realloc(block, size));
}

APART static void hand_over(uint64_t random, void *block)
{
	free(atomic_exchange(&shared[random % 256], block));
	stay();
}

/* One call, some levels deep. */
APART static void work(struct worker *worker, int depth)
{
	uint64_t random = next_random(worker);
	void **slot = &worker->window[random >> 20 & (WINDOW - 1)];
	size_t size = 1 + (random >> 8 & 255) * (1 + (random >> 40 & 15));

	if (depth > 0) {
		work(worker, depth - 1);
		stay();
		return;
	}
	worker->left--;
	if (*slot == NULL) {
		*slot = fresh(size);
	} else if ((random & 7) == 0) {
		*slot = resized(*slot, size);
	} else if ((random & 63) == 1) {
		hand_over(random >> 30, *slot);
		*slot = NULL;
	} else {
		free(*slot);
		*slot = NULL;
	}
}

static void *run(void *argument)
{
	struct worker *worker = argument;

	for (long round = 0; round != rounds; round++) {
		long events = worker->left;

		while (worker->left > 0)
			work(worker, (int)(worker->left & 15));
		worker->left = events;
	}
	for (int i = 0; i < WINDOW; i++)
		free(worker->window[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t ids[MAX_THREADS];

	must(argc > 2 && threads < MAX_THREADS, "churn THREADS EVENTS [forever]");
	for (int i = 0; i < MAX_THREADS; i++)
		workers[i] = (struct worker){ .random = 0x9e3779b97f4a7c15u * (unsigned)(i + 1),
					      .left = atol(argv[2]),
					      .number = i };
	if (argc > 3) {
		rounds = -1;
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
	}
	for (int i = 1; i <= threads; i++)
		must(pthread_create(&ids[i], NULL, run, &workers[i]) == 0, "a thread starts");
	if (threads == 0)
		run(&workers[0]);
	for (int i = 1; i <= threads; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < 256; i++)
		free(shared[i]);
	puts("churned");
	return 0;
}
