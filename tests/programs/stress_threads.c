/*
 * stress_threads.c - 500 threads, ten at a time, none of which lives long.
 *
 * Each has a name and three blocks of 1009 bytes, of which it frees two; main() frees the third.
 */
#include "blocks.h"

#include <pthread.h>

enum { THREADS = 500, AT_ONCE = 10 };

static void *run(void *argument)
{
	char name[16];
	void *kept = filled(1009, 1);

	snprintf(name, sizeof(name), "short-%d", (int)(size_t)argument);
	pthread_setname_np(pthread_self(), name);
	free(filled(1009, 2));
	free(filled(1009, 3));
	return kept;
}

int main(void)
{
	int freed = 0;

	for (size_t first = 0; first < THREADS; first += AT_ONCE) {
		pthread_t threads[AT_ONCE];

		for (size_t i = 0; i < AT_ONCE; i++)
			must(pthread_create(&threads[i], NULL, run, (void *)(first + i)) == 0,
			     "a thread starts");
		for (size_t i = 0; i < AT_ONCE; i++) {
			void *kept = NULL;

			pthread_join(threads[i], &kept);
			must_be_filled(kept, 1009, 1);
			free(kept);
			freed++;
		}
	}
	printf("%d threads\n", freed);
	return 0;
}
