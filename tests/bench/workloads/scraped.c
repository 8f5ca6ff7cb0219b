/*
 * A process with much memory that is asked for its figures: scraped GIB ROUNDS
 *
 * Prints, in microseconds: the least and the middle CPU time of a scrape, how long a walk through
 * all pages takes, and the worst that mmap() and munmap() have taken in another thread, over the
 * rounds the least: without scrapes, with 50 scrapes per second, and while pages are
 * walked through as often.
 */
#include <allo.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MAPPED = 1 << 20, SCRAPES = 25, PAUSE_US = 20000, SAMPLES = 500 };

static atomic_bool is_over;
static char text[1 << 17];

static double now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void touch(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < size; at += PAGE)
		memory[at] = 1;
}

/* The other thread. */
static void *map_and_unmap(void *given)
{
	double *worst = given;

	while (!is_over) {
		double begin = now_us(CLOCK_MONOTONIC), end;
		char *memory = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		end = now_us(CLOCK_MONOTONIC);
		*worst = end - begin > *worst ? end - begin : *worst;
		memory[0] = 1;
		begin = now_us(CLOCK_MONOTONIC);
		munmap(memory, MAPPED);
		end = now_us(CLOCK_MONOTONIC);
		*worst = end - begin > *worst ? end - begin : *worst;
		usleep(100);
	}
	return NULL;
}

static void nothing(void)
{
}

static void scrape(void)
{
	allo_metrics_text(text, sizeof(text));
}

static void walk(void)
{
	allo_metrics_as(ALLO_METRICS_PROMETHEUS, ALLO_WALK_PAGES, text, sizeof(text));
}

static double worst_while(void (*work)(void))
{
	pthread_t thread;
	double worst = 0;

	is_over = false;
	pthread_create(&thread, NULL, map_and_unmap, &worst);
	for (int i = 0; i < SCRAPES; i++) {
		work();
		usleep(PAUSE_US);
	}
	is_over = true;
	pthread_join(thread, NULL);
	return worst;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	size_t size = (size_t)(atof(argv[1]) * (1 << 30));
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	static double took[SAMPLES];
	double begin, walked, least[3] = { 1e9, 1e9, 1e9 };
	void (*const works[])(void) = { nothing, scrape, walk };

	touch(size);
	for (int i = 0; i < SAMPLES; i++) {
		begin = now_us(CLOCK_THREAD_CPUTIME_ID);
		scrape();
		took[i] = now_us(CLOCK_THREAD_CPUTIME_ID) - begin;
		usleep(1000);
	}
	qsort(took, SAMPLES, sizeof(*took), compare);
	begin = now_us(CLOCK_THREAD_CPUTIME_ID);
	walk();
	walked = now_us(CLOCK_THREAD_CPUTIME_ID) - begin;
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < 3; i++) {
			double worst = worst_while(works[i]);

			least[i] = worst < least[i] ? worst : least[i];
		}
	}
	printf("%.1f %.1f %.0f %.0f %.0f %.0f\n", took[0], took[SAMPLES / 2], walked, least[0],
	       least[1], least[2]);
	return 0;
}
