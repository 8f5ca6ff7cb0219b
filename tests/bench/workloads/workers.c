/*
 * workers.c - threads that allocate as fast as they can: workers THREADS DEPTH BLOCKS
 *
 * Each goes DEPTH frames deep, the inner ones through functions chosen at random, so that hardly
 * two stacks in a row are equal; keeps some blocks for a while, and hands some to the next thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 4096, MAX_THREADS = 64, BOXES = 64 };

struct worker {
	uint64_t random;
	long left;
	int number;
	void *window[WINDOW];
};

typedef void path(struct worker *worker, int depth);

static int threads, depth;
static _Atomic(void *) boxes[MAX_THREADS][BOXES];
static struct worker workers[MAX_THREADS];
static path *const paths[16];

static uint64_t next_random(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static void let_go(struct worker *worker, void *block, uint64_t random)
{
	if ((random >> 48 & 63) == 0 && threads > 1)
		block = atomic_exchange(&boxes[(worker->number + 1) % threads][random >> 54 & 63],
					block);
	free(block);
}

/* Mostly small blocks; one in sixteen is larger. */
static __attribute__((noinline)) void allocate(struct worker *worker)
{
	uint64_t random = next_random(worker);
	void **slot = &worker->window[random >> 32 & (WINDOW - 1)];
	size_t size = 24 + (random & 7) * 16;
	void *old = *slot;
	char *block;

	if ((random >> 8 & 15) == 0)
		size += (random >> 16 & 15) * 256;
	block = malloc(size);
	block[0] = (char)random;
	worker->left--;
	*slot = block;
	if (old)
		let_go(worker, old, random);
	if (random >> 60 == 0)
		free(atomic_exchange(&boxes[worker->number][random >> 20 & 63], NULL));
}

/* Most blocks come from near the leaves: some levels are gone through twice. */
#define PATH(n)                                                                                    \
	static __attribute__((noinline)) void path_##n(struct worker *worker, int left)            \
	{                                                                                          \
		uint64_t random;                                                                   \
                                                                                                   \
		if (left <= 0) {                                                                   \
			allocate(worker);                                                          \
			if ((worker->random & 3) == 0)                                             \
				allocate(worker);                                                  \
			return;                                                                    \
		}                                                                                  \
		random = next_random(worker);                                                      \
		paths[(n * 7 + (random >> 10 & 1) * 3 + left) & 15](worker, left - 1);             \
		if (left < 6 && (random & 1))                                                      \
			paths[(n * 5 + (random >> 14 & 1) * 9 + left) & 15](worker, left - 1);     \
		__asm__ volatile("" : : : "memory");                                               \
	}

PATH(0)
PATH(1)
PATH(2)
PATH(3)
PATH(4)
PATH(5)
PATH(6)
PATH(7)
PATH(8)
PATH(9)
PATH(10)
PATH(11)
PATH(12)
PATH(13)
PATH(14)
PATH(15)

static path *const paths[16] = { path_0,  path_1,  path_2,  path_3, path_4,  path_5,
				 path_6,  path_7,  path_8,  path_9, path_10, path_11,
				 path_12, path_13, path_14, path_15 };

/* The outer frames are always the same. */
static __attribute__((noinline)) void descend(struct worker *worker, int left)
{
	if (left > 0)
		descend(worker, left - 1);
	else
		paths[next_random(worker) & 3](worker, 4 + (int)(next_random(worker) & 1));
	__asm__ volatile("" : : : "memory");
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	while (worker->left > 0)
		descend(worker, depth - 6);
	for (int i = 0; i < WINDOW; i++)
		free(worker->window[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[MAX_THREADS];

	if (argc != 4)
		return 2;
	threads = atoi(argv[1]);
	depth = atoi(argv[2]);
	for (int i = 0; i < threads && i < MAX_THREADS; i++) {
		workers[i].random = 0x9e3779b97f4a7c15u * (unsigned)(i + 1);
		workers[i].left = atol(argv[3]) / threads;
		workers[i].number = i;
		pthread_create(&ids[i], NULL, work, &workers[i]);
	}
	for (int i = 0; i < threads && i < MAX_THREADS; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
