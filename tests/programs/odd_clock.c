/*
 * odd_clock.c - preloaded: a coarse clock that does not fit the kernel's.
 *
 *     ODD_CLOCK=shifted    it is an hour ahead
 *     ODD_CLOCK=fast       it advances with every reading, except for the first few
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GOOD_READINGS = 40 };

static int (*real)(clockid_t clock, struct timespec *time);
static long readings;

static void distort(struct timespec *time)
{
	const char *kind = getenv("ODD_CLOCK");

	readings++;
	if (kind && strcmp(kind, "shifted") == 0)
		time->tv_sec += 3600;
	else if (kind && strcmp(kind, "fast") == 0 && readings > GOOD_READINGS)
		time->tv_sec += readings;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	result = real(clock, time);
	if (clock == CLOCK_MONOTONIC_COARSE)
		distort(time);
	return result;
}
