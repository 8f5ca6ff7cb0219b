/*
 * monotonic_clock.h - time in nanoseconds on a clock that is never set.
 */
#ifndef ALLO_TELEMETRY_MONOTONIC_CLOCK_H
#define ALLO_TELEMETRY_MONOTONIC_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#define ALLO_SECOND_NS 1000000000

static inline uint64_t allo_clock_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * ALLO_SECOND_NS + (uint64_t)now.tv_nsec;
}

static inline uint64_t allo_clock_ns(void)
{
	return allo_clock_of(CLOCK_MONOTONIC);
}

/* Sleeps; a signal does not shorten it. */
static inline void allo_wait_ns(uint64_t ns)
{
	struct timespec left = { (time_t)(ns / ALLO_SECOND_NS), (long)(ns % ALLO_SECOND_NS) };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

#endif
