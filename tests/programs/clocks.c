/*
 * clocks.c - blocks that live through a sleep, a wait or a computation, with the times of this
 * program's own clock.
 *
 * Each block has its own size and follows a rush of short-lived blocks, in which the recorder may
 * save time stamps.  At the end the program prints a line for each block: its size, the kind and
 * the length of the gap (ns), the number of short-lived blocks before it, and the clock before and
 * after malloc() and before and after free().
 *
 *     clocks         all kinds of gaps, in one thread
 *     clocks 2       the same in two threads at once
 */
#include "blocks.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000, FEW = 64, MANY = 20000, FIRST_SIZE = 20011, THREADS_MAX = 2, GAPS_MAX = 140 };

struct gap {
	const char *kind;
	void (*pass)(uint64_t ns);
	uint64_t ns;
	int rush;
	uint64_t before_malloc, after_malloc, before_free, after_free;
};

/* Static: the program allocates nothing but the blocks. */
static struct gap gaps[THREADS_MAX][GAPS_MAX];
static size_t gap_count;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct timespec duration(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

static void in_nanosleep(uint64_t ns)
{
	struct timespec time = duration(ns);

	nanosleep(&time, NULL);
}

static void in_poll(uint64_t ns)
{
	struct timespec time = duration(ns);

	ppoll(NULL, 0, &time, NULL);
}

static void in_futex(uint64_t ns)
{
	static uint32_t word;
	struct timespec time = duration(ns);

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
}

static void in_read(uint64_t ns)
{
	struct itimerspec timer = { .it_value = duration(ns) };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t count;

	must(fd >= 0 && timerfd_settime(fd, 0, &timer, NULL) == 0, "a timer runs");
	must(read(fd, &count, sizeof(count)) == sizeof(count), "the timer ends");
	close(fd);
}

static void in_computing(uint64_t ns)
{
	for (uint64_t end = now() + ns; now() < end;) {
	}
}

static void in_both(uint64_t ns)
{
	in_computing(ns / 2);
	in_nanosleep(ns / 2);
}

static void add_gap(const char *kind, void (*pass)(uint64_t ns), uint64_t ns)
{
	static const int rushes[] = { 0, FEW, MANY };

	for (size_t i = 0; i < sizeof(rushes) / sizeof(*rushes); i++) {
		must(gap_count < GAPS_MAX, "there is room for all gaps");
		gaps[0][gap_count++] = (struct gap){
			.kind = kind, .pass = pass, .ns = ns, .rush = rushes[i]
		};
	}
}

static void add_gaps(void)
{
	static const uint64_t lengths[] = { MS / 5, MS, 3 * MS, 10 * MS, 50 * MS };
	static const uint64_t odd_lengths[] = { 12 * MS, 17 * MS, 25 * MS };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		add_gap("nanosleep", in_nanosleep, lengths[i]);
		add_gap("poll", in_poll, lengths[i]);
		add_gap("futex", in_futex, lengths[i]);
		add_gap("read", in_read, lengths[i]);
		add_gap("computing", in_computing, lengths[i]);
		add_gap("both", in_both, lengths[i]);
	}
	/* Of any length beside that of a timer interrupt. */
	for (size_t i = 0; i < sizeof(odd_lengths) / sizeof(*odd_lengths); i++) {
		add_gap("computing", in_computing, odd_lengths[i]);
		add_gap("both", in_both, odd_lengths[i]);
	}
	add_gap("nanosleep", in_nanosleep, 300 * MS);
	add_gap("computing", in_computing, 300 * MS);
	memcpy(gaps[1], gaps[0], sizeof(gaps[0]));
}

static void rush(int count)
{
	for (int i = 0; i < count; i++)
		free(held(malloc(48)));
}

/* Until the recorder has seen the kernel's clock tick several times, it saves nothing. */
static void warm_up(void)
{
	for (uint64_t end = now() + 60 * MS; now() < end;)
		rush(100);
}

static void *live(void *given)
{
	struct gap *own = given;
	size_t first = FIRST_SIZE + (size_t)(own - gaps[0]);

	warm_up();
	for (size_t i = 0; i < gap_count; i++) {
		void *block;

		rush(own[i].rush);
		own[i].before_malloc = now();
		block = held(malloc(first + i));
		own[i].after_malloc = now();
		own[i].pass(own[i].ns);
		own[i].before_free = now();
		free(block);
		own[i].after_free = now();
	}
	return NULL;
}

static void print(const struct gap *own)
{
	for (size_t i = 0; i < gap_count; i++)
		printf("%zu %s %lu %d %lu %lu %lu %lu\n", FIRST_SIZE + (size_t)(own - gaps[0]) + i,
		       own[i].kind, own[i].ns, own[i].rush, own[i].before_malloc,
		       own[i].after_malloc, own[i].before_free, own[i].after_free);
}

int main(int count, char **words)
{
	int threads = count > 1 ? atoi(words[1]) : 1;
	pthread_t other;

	must(threads >= 1 && threads <= THREADS_MAX, "one or two threads are wanted");
	add_gaps();
	if (threads > 1)
		must(pthread_create(&other, NULL, live, gaps[1]) == 0, "a thread starts");
	live(gaps[0]);
	print(gaps[0]);
	if (threads > 1) {
		pthread_join(other, NULL);
		print(gaps[1]);
	}
	return 0;
}
