/*
 * test_memory.h - limits on the memory of single tests; for gtest.h, catch2.h and cmocka.h beside
 * it.
 *
 * A test sets its limits itself, at its beginning:
 *
 *     ALLO_LIMIT_MEMORY(24 << 20);       most bytes held at once
 *     ALLO_LIMIT_LEAKS(0);               bytes that are allocated and not freed
 *     ALLO_LIMIT_ALLOCATIONS(100);       number of allocated blocks
 *
 * The allocations of the calling thread count, from the first of these lines to the end of the
 * block that it is in: variables that are declared after it have freed their memory by then.  Link
 * the program with -lallo.
 *
 * Include it in one source file of the program only.
 */
#ifndef ALLOTROPE_TEST_MEMORY_H
#define ALLOTROPE_TEST_MEMORY_H

#include <allo.h>

#include <stdio.h>
#include <string.h>

#define ALLO_NO_TEST_LIMIT UINT64_MAX

struct allo_test_limits {
	uint64_t memory, leaks; /* bytes */
	uint64_t allocations;   /* blocks */
};

/* The test that runs. */
static struct {
	struct allo_test_limits limits;
	struct allo_scope scope;
	struct allo_heap_stats stats;
	bool has_limits, is_open, is_measured;
} allo_test_now;

/* Belongs to a limit; the first one of a test ends the measurement. */
struct allo_test_guard {
	bool is_first;
};

static inline struct allo_test_guard allo_test_limit(uint64_t *limit, uint64_t value)
{
	struct allo_test_guard guard = { !allo_test_now.has_limits };
	struct allo_config config;

	*limit = value;
	if (!guard.is_first)
		return guard;
	memset(&config, 0, sizeof(config));
	config.mode = ALLO_COUNTERS;
	if (!allo_is_recording())
		allo_start(&config);
	allo_test_now.has_limits = true;
	allo_test_now.is_open = allo_scope_begin(&allo_test_now.scope);
	return guard;
}

static inline void allo_test_measure(const struct allo_test_guard *guard)
{
	if (!guard->is_first || !allo_test_now.is_open)
		return;
	allo_test_now.is_open = false;
	allo_test_now.is_measured = allo_scope_end(&allo_test_now.scope, &allo_test_now.stats);
}

#define ALLO_TEST_GUARD_OF_(line) allo_test_guard_##line
#define ALLO_TEST_GUARD_(line)    ALLO_TEST_GUARD_OF_(line)
#define ALLO_TEST_LIMIT_(limit, value)                                                             \
	struct allo_test_guard ALLO_TEST_GUARD_(__LINE__)                                          \
		__attribute__((cleanup(allo_test_measure), unused)) = allo_test_limit(             \
			&allo_test_now.limits.limit, value)

#define ALLO_LIMIT_MEMORY(bytes)       ALLO_TEST_LIMIT_(memory, bytes)
#define ALLO_LIMIT_LEAKS(bytes)        ALLO_TEST_LIMIT_(leaks, bytes)
#define ALLO_LIMIT_ALLOCATIONS(blocks) ALLO_TEST_LIMIT_(allocations, blocks)

/* For the listeners: forgets the test before.  One that left its block by longjmp() is still being
 * measured. */
static inline void allo_test_begin(void)
{
	if (allo_test_now.is_open)
		allo_scope_end(&allo_test_now.scope, &allo_test_now.stats);
	memset(&allo_test_now, 0, sizeof(allo_test_now));
	memset(&allo_test_now.limits, 0xff, sizeof(allo_test_now.limits)); /* ALLO_NO_TEST_LIMIT */
}

/* "allocated 5 blocks where at most 4 are allowed"; false if the limit is kept. */
static inline bool allo_test_exceeds(char *message, size_t size, const char *words,
				     const char *unit, int64_t number, uint64_t limit)
{
	size_t len = strlen(message);

	if (limit == ALLO_NO_TEST_LIMIT || number <= 0 || (uint64_t)number <= limit)
		return false;
	snprintf(message + len, size - len, "%sthe test %s %lld %s where at most %llu are allowed",
		 len > 0 ? "; " : "", words, (long long)number, unit, (unsigned long long)limit);
	return true;
}

/* For the listeners: returns whether the test has kept its limits; otherwise `message` says which
 * it has not. */
static inline bool allo_test_is_kept(char *message, size_t size)
{
	const struct allo_test_limits *limits = &allo_test_now.limits;
	const struct allo_heap_stats *stats = &allo_test_now.stats;
	bool is_exceeded = false;

	message[0] = '\0';
	/* A test that is still being measured has failed by longjmp(). */
	if (!allo_test_now.has_limits || allo_test_now.is_open)
		return true;
	if (!allo_test_now.is_measured) {
		snprintf(message, size, "the test has limits, but cannot be measured: %s",
			 allo_error());
		return false;
	}
	is_exceeded |= allo_test_exceeds(message, size, "held", "bytes at once",
					 (int64_t)stats->peak_bytes, limits->memory);
	is_exceeded |= allo_test_exceeds(message, size, "did not free", "bytes",
					 stats->current_bytes, limits->leaks);
	is_exceeded |= allo_test_exceeds(message, size, "allocated", "blocks",
					 (int64_t)stats->total_blocks, limits->allocations);
	return !is_exceeded;
}

#endif
