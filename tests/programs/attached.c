/*
 * attached.c - a target of `allo attach`: it verifies all that it gets from the allocator and the
 * kernel.
 *
 * usage: attached THREADS [signals] [churn]
 *
 * Each thread owns blocks of random sizes, fills them, and checks them before it frees or resizes
 * them.  "signals": a timer sends 500 signals a second, whose handler runs on an alternate stack.
 * "churn": another thread makes threads, and forks.  One more thread waits for events, and must
 * never be told of an interruption.  The program ends when its standard input does, and prints the
 * number of operations; any difference ends it with status 1.
 */
#include <errno.h>
#include <fenv.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 200, SIZE_MAX_HERE = 3000, SIGNALS_A_SECOND = 500 };

static atomic_bool is_over;
static atomic_ulong operations, signals, threads_made;

static _Noreturn void differ(const char *what)
{
	fprintf(stderr, "attached: %s\n", what);
	_exit(1);
}

struct block {
	unsigned char *at;
	size_t size;
	unsigned char fill;
};

static void check(const struct block *block, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (block->at[i] != block->fill)
			differ("a block has changed");
	}
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void *get(uint32_t *seed, size_t size)
{
	unsigned char *zeros;
	void *aligned;

	switch (next(seed) % 8) {
	case 0:
		zeros = calloc(1, size);
		for (size_t i = 0; zeros && i < size; i++) {
			if (zeros[i] != 0)
				differ("calloc() gives no zeros");
		}
		return zeros;
	case 1:
		if (posix_memalign(&aligned, 64, size) != 0 || (uintptr_t)aligned % 64 != 0)
			differ("posix_memalign() fails");
		return aligned;
	case 2:
		return memalign(32, size);
	default:
		return malloc(size);
	}
}

static void change(struct block *block, uint32_t *seed)
{
	size_t size = 1 + next(seed) % SIZE_MAX_HERE;
	unsigned char *moved;

	if (block->at && next(seed) % 4 == 0) {
		moved = realloc(block->at, size);
		if (!moved)
			differ("realloc() fails");
		block->at = moved;
		check(block, size < block->size ? size : block->size);
	} else {
		if (block->at)
			check(block, block->size);
		free(block->at);
		block->at = get(seed, size);
		if (!block->at)
			differ("no memory");
	}
	block->size = size;
	block->fill = (unsigned char)next(seed);
	memset(block->at, block->fill, size);
}

/* Registers that calls must preserve, and those that a stop must preserve. */
static void check_numbers(double expected)
{
	double sum = 0;

	for (int i = 1; i <= 100; i++)
		sum += 1.0 / i;
	if (sum != expected)
		differ("floating point numbers have changed");
}

static void *work(void *given)
{
	struct block blocks[BLOCKS] = { { 0 } };
	uint32_t seed = (uint32_t)(uintptr_t)given;
	double expected = 0;

	for (int i = 1; i <= 100; i++)
		expected += 1.0 / i;
	while (!is_over) {
		errno = 77;
		change(&blocks[next(&seed) % BLOCKS], &seed);
		if (errno != 77)
			differ("errno has changed");
		if (next(&seed) % 64 == 0)
			check_numbers(expected);
		operations++;
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (blocks[i].at)
			check(&blocks[i], blocks[i].size);
		free(blocks[i].at);
	}
	return NULL;
}

static void *short_life(void *given)
{
	void *block = malloc(100);

	(void)given;
	memset(block, 1, 100);
	free(block);
	return NULL;
}

static void fork_once(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		free(malloc(50));
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
	}
	if (status != 0)
		differ("a child has failed");
}

static void *churn(void *given)
{
	(void)given;
	while (!is_over) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, short_life, NULL) == 0)
			pthread_join(thread, NULL);
		if (++threads_made % 16 == 0)
			fork_once();
	}
	return NULL;
}

/* No signal handler runs in this thread, so no call may be interrupted. */
static void *wait_for_events(void *given)
{
	int events = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	const struct timespec pause = { .tv_nsec = 3000000 };

	(void)given;
	while (!is_over) {
		if (epoll_wait(events, &event, 1, 3) != 0)
			differ("epoll_wait() was interrupted");
		if (nanosleep(&pause, NULL) != 0)
			differ("nanosleep() was interrupted");
	}
	close(events);
	return NULL;
}

static void note(int signal)
{
	(void)signal;
	signals++;
}

static void start_signals(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	struct sigaction action = { .sa_handler = note, .sa_flags = SA_ONSTACK | SA_RESTART };
	const struct timespec step = { .tv_nsec = 1000000000 / SIGNALS_A_SECOND };
	const struct itimerspec times = { step, step };
	timer_t timer;

	sigaction(SIGUSR2, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
	    timer_settime(timer, 0, &times, NULL) != 0)
		differ("no timer");
}

static void block_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(how, &set, NULL);
}

int main(int count, char **words)
{
	unsigned workers = count > 1 ? (unsigned)atoi(words[1]) : 1;
	pthread_t threads[64], other;
	char byte;

	for (int i = 2; i < count; i++) {
		if (strcmp(words[i], "signals") == 0)
			start_signals();
		if (strcmp(words[i], "churn") == 0)
			pthread_create(&other, NULL, churn, NULL);
	}
	for (unsigned i = 0; i < workers && i < 64; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1));
	block_signals(SIG_BLOCK);
	pthread_create(&other, NULL, wait_for_events, NULL);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0) {
	}
	is_over = true;
	for (unsigned i = 0; i < workers && i < 64; i++)
		pthread_join(threads[i], NULL);
	printf("fine: %lu operations, %lu signals, %lu threads\n", operations, signals,
	       threads_made);
	return 0;
}
