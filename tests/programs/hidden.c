/*
 * hidden.c - computations before the last of several frees, then a pause, with the times of this
 * program's own clock.
 *
 * The frees follow one another quickly but for the computation, so the recorder may not expect it
 * and add it to the pause.  At the end the program prints a line for each round: the size of the
 * block that was freed before the pause, the size of the block that was allocated after it, the
 * kind of the pause, the length of the computation (ns), and the clock before and after the free
 * and before and after the allocation.
 *
 *     hidden THREADS US...     computations of US microseconds, in each thread
 */
#include "blocks.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { MS = 1000000, ROUNDS = 12, PARTS = 8, NODES = 200, LISTS = 15, FIRST_SIZE = 20011 };
enum { THREADS_MAX = 2, PAUSES = 2, LENGTHS_MAX = 4, ALL = ROUNDS * PAUSES * LENGTHS_MAX };

struct round {
	const char *kind;
	uint64_t hidden_ns, before_free, after_free, before_malloc, after_malloc;
};

struct node {
	struct node *next;
	char bytes[40];
};

/* Static: the program allocates nothing but the blocks. */
static struct round rounds[THREADS_MAX][ALL];
static size_t round_count;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void compute(uint64_t ns)
{
	for (uint64_t end = now() + ns; now() < end;) {
	}
}

static void release(struct node *list)
{
	while (list) {
		struct node *next = list->next;

		free(list);
		list = next;
	}
}

static void rush(void)
{
	struct node *list = NULL;

	for (int i = 0; i < NODES; i++) {
		struct node *node = held(malloc(sizeof(*node)));

		node->next = list;
		list = node;
	}
	release(list);
}

/* Until the recorder has seen the kernel's clock tick several times, it saves nothing. */
static void warm_up(void)
{
	for (uint64_t end = now() + 60 * MS; now() < end;)
		rush();
}

static void pass(struct round *round, size_t size)
{
	static const struct timespec pause = { .tv_nsec = 10 * MS };
	void *parts[PARTS], *after;

	for (int i = 0; i < LISTS; i++)
		rush();
	for (int i = 0; i < PARTS; i++)
		parts[i] = held(malloc(i + 1 < PARTS ? 48 : size));
	for (int i = 0; i < PARTS; i++) {
		if (i + 1 == PARTS)
			compute(round->hidden_ns);
		round->before_free = now();
		free(parts[i]);
		round->after_free = now();
	}
	if (round->kind[0] == 's')
		nanosleep(&pause, NULL);
	else
		compute(12 * MS);
	round->before_malloc = now();
	after = held(malloc(size + 1));
	round->after_malloc = now();
	free(after);
}

static void *live(void *given)
{
	struct round *own = given;
	size_t first = FIRST_SIZE + 2 * (size_t)(own - rounds[0]);

	warm_up();
	for (size_t i = 0; i < round_count; i++)
		pass(&own[i], first + 2 * i);
	return NULL;
}

static void add_rounds(uint64_t hidden_ns)
{
	static const char *const kinds[PAUSES] = { "sleep", "computing" };

	for (int i = 0; i < PAUSES * ROUNDS; i++) {
		must(round_count < ALL, "there is room for all rounds");
		rounds[0][round_count++] = (struct round){ .kind = kinds[i / ROUNDS],
							   .hidden_ns = hidden_ns };
	}
}

static void print(const struct round *own)
{
	for (size_t i = 0; i < round_count; i++) {
		size_t size = FIRST_SIZE + 2 * (size_t)(&own[i] - rounds[0]);

		printf("%zu %zu %s %lu %lu %lu %lu %lu\n", size, size + 1, own[i].kind,
		       own[i].hidden_ns, own[i].before_free, own[i].after_free,
		       own[i].before_malloc, own[i].after_malloc);
	}
}

int main(int count, char **words)
{
	int threads = count > 2 ? atoi(words[1]) : 0;
	pthread_t other;

	must(threads >= 1 && threads <= THREADS_MAX, "one or two threads are wanted");
	for (int i = 2; i < count; i++)
		add_rounds(strtoull(words[i], NULL, 10) * 1000);
	memcpy(rounds[1], rounds[0], sizeof(rounds[0]));
	if (threads > 1)
		must(pthread_create(&other, NULL, live, rounds[1]) == 0, "a thread starts");
	live(rounds[0]);
	print(rounds[0]);
	if (threads > 1) {
		pthread_join(other, NULL);
		print(rounds[1]);
	}
	return 0;
}
