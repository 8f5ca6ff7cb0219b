/*
 * losses.c - makes events that are hard to record.
 *
 * losses thread    a thread has no memory for the runtime; prints the number of its events
 * losses stacks    many stacks, without memory for them
 * losses jump      jumps out of a signal handler that interrupted an allocation function
 * losses file      allocates after its limit of file sizes is set to 1 MiB
 */
#include "blocks.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EVENTS = 200000, DEPTH = 13, JUMPS = 5, BLOCKS = 1000 };

static volatile int is_limited;
static sigjmp_buf back;

/* No further mapping is possible. */
static void forbid_mappings(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;
	struct rlimit limit;

	must(file && fscanf(file, "%lu", &pages) == 1, "the size is known");
	fclose(file);
	limit.rlim_cur = limit.rlim_max = pages * (unsigned long)getpagesize();
	must(setrlimit(RLIMIT_AS, &limit) == 0, "the limit can be set");
}

static void *run(void *argument)
{
	while (!is_limited)
		usleep(1000);
	for (int i = 0; i < EVENTS / 2; i++)
		free(held(malloc(24)));
	return argument;
}

static void limit_thread(void)
{
	pthread_t thread;

	/* The thread takes its blocks from the first arena, which needs no mapping. */
	mallopt(M_ARENA_MAX, 1);
	must(pthread_create(&thread, NULL, run, NULL) == 0, "a thread starts");
	forbid_mappings();
	is_limited = 1;
	pthread_join(thread, NULL);
	printf("%d events\n", EVENTS);
}

/* Each path through these two is another stack. */
APART static void left(unsigned path, int depth);

APART static void right(unsigned path, int depth)
{
	if (depth == 0)
		free(held(malloc(24)));
	else if (path & 1)
		right(path >> 1, depth - 1);
	else
		left(path >> 1, depth - 1);
	stay();
}

APART static void left(unsigned path, int depth)
{
	if (depth == 0)
		free(held(malloc(24)));
	else if (path & 1)
		right(path >> 1, depth - 1);
	else
		left(path >> 1, depth - 1);
	stay();
}

static void limit_stacks(void)
{
	right(0, DEPTH);
	forbid_mappings();
	for (unsigned path = 0; path < 1u << DEPTH; path++)
		right(path, DEPTH);
	printf("%u stacks\n", 1u << DEPTH);
}

static void on_signal(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

/* posix_memalign stores the block's address to a place that cannot be written. */
static void jump(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	void **volatile nowhere = NULL;

	sigaction(SIGSEGV, &action, NULL);
	for (volatile int i = 0; i < JUMPS; i++) {
		if (sigsetjmp(back, 1) == 0)
			(void)!posix_memalign(nowhere, 64, 1000);
		for (int k = 0; k < BLOCKS; k++)
			free(held(malloc(1013)));
	}
	printf("%d blocks\n", JUMPS * BLOCKS);
}

static void limit_file(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	must(setrlimit(RLIMIT_FSIZE, &limit) == 0, "the limit can be set");
	for (int i = 0; i < 20 * EVENTS; i++)
		free(held(malloc((size_t)(i % 977))));
}

int main(int argc, char **argv)
{
	must(argc > 1, "losses thread|stacks|jump|file");
	if (strcmp(argv[1], "thread") == 0)
		limit_thread();
	else if (strcmp(argv[1], "stacks") == 0)
		limit_stacks();
	else if (strcmp(argv[1], "jump") == 0)
		jump();
	else
		limit_file();
	return 0;
}
