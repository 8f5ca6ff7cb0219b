/*
 * ticking.h - a clock that never stops and is never set, from anywhere.
 */
#ifndef ALLO_TELEMETRY_TICKING_H
#define ALLO_TELEMETRY_TICKING_H

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

#endif
