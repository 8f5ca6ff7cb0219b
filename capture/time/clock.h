/*
 * clock.h - the time stamp counter of the processor: 5 ns per reading, against 25 ns for a system
 * clock.
 */
#ifndef ALLO_CAPTURE_CLOCK_H
#define ALLO_CAPTURE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static inline uint64_t allo_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* True if the counter runs at a constant speed in all power states. */
static inline bool allo_counter_is_steady(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8);
#else
	return true;
#endif
}

static inline uint64_t allo_counter(void)
{
#if defined(__x86_64__)
	/* Not __rdtsc(): its header has 50,000 lines. */
	return __builtin_ia32_rdtsc();
#else
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

/* The frequency of allo_ticks().  On x86-64 a guess: it is 1.5 to 4 GHz on most processors. */
static inline uint64_t allo_counter_hertz(bool is_steady)
{
#if defined(__x86_64__)
	return is_steady ? 2500000000 : 1000000000;
#else
	uint64_t hertz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hertz));
	return is_steady ? hertz : 1000000000;
#endif
}

/* Falls back to nanoseconds if the counter is not steady. */
static inline uint64_t allo_ticks(bool is_steady)
{
	return __builtin_expect(is_steady, 1) ? allo_counter() : allo_monotonic_ns();
}

#endif
