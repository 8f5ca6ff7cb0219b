/* restarting.c - a library that starts and stops recordings, of all kinds in turn, all the time
 * that a program runs. */
#include <allo.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static const struct allo_config configs[] = {
	{ .has_stats = true },
	{ .mode = ALLO_SAMPLED, .rate = 100 },
	{ .mode = ALLO_COUNTERS },
	{ 0 },
	{ .mode = ALLO_SAMPLED_EVENTS, .rate = 3, .has_stats = true },
};

static void *restart(void *given)
{
	unsigned seed = (unsigned)getpid();
	struct allo_heap_stats stats;

	for (unsigned i = 1;; i++) {
		usleep((useconds_t)(rand_r(&seed) % 2000));
		allo_get_heap_stats(&stats);
		usleep((useconds_t)(rand_r(&seed) % 1000));
		/* Where there is no disk for it, a recording may be over already. */
		allo_stop();
		if (i > 60)
			usleep(2000000);
		if (!allo_start(&configs[i % 5]))
			_Exit(98);
	}
	return given;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	/* A program may end before the thread has begun. */
	if (!allo_start(&configs[0]))
		_Exit(98);
	if (pthread_create(&thread, NULL, restart, NULL) != 0)
		_Exit(97);
	pthread_detach(thread);
}
