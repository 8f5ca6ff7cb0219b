/* uneven.c - threads whose load changes: a quarter of the time busy with malloc, then with
 * computing, and so on.
 *
 *     uneven THREADS ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { HELD = 512, THREADS_MAX = 16 };

static uint64_t rounds;

static void compute(unsigned steps)
{
	volatile uint64_t x = 1;

	for (unsigned i = 0; i < steps; i++)
		x = x * 31 + i;
}

static void *run(void *seed)
{
	uint64_t random = (uintptr_t)seed * 77777 + 1;
	void *held[HELD] = { 0 };

	for (uint64_t i = 0; i < rounds; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		free(held[random >> 55]);
		held[random >> 55] = malloc((random >> 40) % 8 ? 16 + (random >> 30) % 256
							       : 4096 + (random >> 20) % 16384);
		if (i % 64 == 0)
			compute(i / (rounds / 4 + 1) % 2 ? 20000 : 300);
	}
	for (int i = 0; i < HELD; i++)
		free(held[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[THREADS_MAX];

	rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	if (count > THREADS_MAX)
		return 1;
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
