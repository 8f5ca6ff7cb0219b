/*
 * unstoppable.c - a target of `allo attach` with a thread that ptrace cannot stop: it waits for its
 * vfork()ed child.
 *
 * Commands, one per line of standard input: "gap" prints the longest time in milliseconds in which
 * another thread stood still; "release" lets the child end, and the thread go on.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int to_child[2];
static atomic_long longest_ms;
static atomic_int waiting_thread;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *watch_clock(void *given)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (long before = now_ms();;) {
		long now = now_ms();

		if (now - before > longest_ms)
			longest_ms = now - before;
		before = now;
		free(malloc(100));
		nanosleep(&pause, NULL);
	}
	return given;
}

static void *wait_for_child(void *given)
{
	waiting_thread = gettid();
	if (vfork() == 0) {
		char byte;

		(void)!read(to_child[0], &byte, 1);
		_exit(0);
	}
	wait(NULL);
	return given;
}

/* The kernel shows a thread that waits for its child as one that waits for a disk. */
static void wait_until_vfork(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	char path[64], line[256] = "";
	const char *state;

	do {
		FILE *file;

		nanosleep(&pause, NULL);
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", waiting_thread);
		file = waiting_thread ? fopen(path, "r") : NULL;
		if (file && !fgets(line, sizeof(line), file))
			exit(1);
		if (file)
			fclose(file);
		state = strrchr(line, ')');
	} while (!state || state[2] != 'D');
}

int main(void)
{
	pthread_t threads[2];
	char line[16];

	if (pipe(to_child) != 0)
		return 1;
	pthread_create(&threads[0], NULL, wait_for_child, NULL);
	wait_until_vfork();
	pthread_create(&threads[1], NULL, watch_clock, NULL);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "gap\n") == 0) {
			printf("%ld\n", (long)longest_ms);
		} else if (strcmp(line, "release\n") == 0) {
			(void)!write(to_child[1], "", 1);
			pthread_join(threads[0], NULL);
			printf("done\n");
		}
		fflush(stdout);
	}
	return 0;
}
