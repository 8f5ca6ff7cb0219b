/*
 * views.c - allocations of every kind, for views that must agree: views THREADS
 *
 * Each thread serves requests: recursive calls, blocks that realloc resizes, temporary blocks,
 * blocks that another thread frees, and leaks.  With labels and marks if the runtime is linked
 * (-DNOTES).
 */
#include "blocks.h"

#include <pthread.h>

#ifdef NOTES
#include <allo.h>
#else
static void allo_label_push(const char *key, const char *value)
{
	(void)key;
	(void)value;
}

static void allo_label_pop(void)
{
}

static void allo_mark(const char *name)
{
	(void)name;
}
#endif

enum { REQUESTS = 60, HANDED = 64, MOST_THREADS = 8, TURNS = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *handed[HANDED];

/* Leaves a block for another thread, which frees the one that was there. */
APART static void hand_over(unsigned place)
{
	void *block = filled(301 + place, 1), *other;

	pthread_mutex_lock(&lock);
	other = handed[place % HANDED];
	handed[place % HANDED] = block;
	pthread_mutex_unlock(&lock);
	free(other);
}

APART static void grow(unsigned request)
{
	void *block = filled(16, 2);

	for (size_t size = 32; size <= 16 + 64 * (size_t)(request % 7); size *= 2)
		block = held(realloc(block, size));
	if (request % 5)
		free(block);
	stay();
}

APART static void descend(unsigned depth)
{
	void *block = filled(100 + depth, 3);

	if (depth > 0)
		descend(depth - 1);
	free(block);
	stay();
}

APART static void leak(unsigned request)
{
	held(filled(1009 + request % 3, 4));
	stay();
}

APART static void serve(unsigned request)
{
	allo_label_push("request", request % 2 ? "upload" : "list");
	free(filled(24 + request % 100, 5));
	descend(request % 9);
	grow(request);
	hand_over(request * 7);
	if (request % 4 == 0)
		leak(request);
	allo_label_pop();
	/* Time goes by. */
	for (volatile int i = 0; i < TURNS; i++)
		;
}

static void *work(void *given)
{
	for (unsigned i = 0; i < REQUESTS; i++)
		serve(i + *(unsigned *)given);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 0, starts[MOST_THREADS];
	pthread_t threads[MOST_THREADS];

	must(count <= MOST_THREADS, "there is room for the threads");
	allo_mark("load");
	leak(0);
	allo_mark("serve");
	for (unsigned i = 0; i < count; i++) {
		starts[i] = i * 11;
		must(pthread_create(&threads[i], NULL, work, &starts[i]) == 0, "a thread starts");
	}
	for (unsigned i = 0; i < REQUESTS && count == 0; i++)
		serve(i);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	allo_mark("end");
	return 0;
}
