/*
 * fuzz_reader.c - any bytes through one reader, within a budget of memory.
 *
 * FUZZED_READER is the reader's name.  Readers validate their profiles, so all that is left to
 * find is crashes, leaks, hangs, undefined behaviour, and profiles that are far larger than their
 * files.  fuzz_writers.c gives profiles to all writers.
 */
#include "base/defer.h"
#include "base/io/unpack.h"
#include "readers/readers.h"

#include <malloc.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The address sanitizer has its own allocator, which mallinfo2() does not know. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return info.uordblks + info.hblkhd;
}

/* Memory that the profile of a file may take.  The first summand covers tables of a fixed size; a
 * byte of a recording can stand for a whole block.  Packed files have a budget of their own: see
 * base/io/input.c. */
static size_t budget_of(struct allo_text file)
{
	enum { ALWAYS = 32 << 20, PER_BYTE = 4 << 10 };

	return allo_packing_of(file) ? SIZE_MAX : ALWAYS + file.len * PER_BYTE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_read_options options = { .from = FUZZED_READER,
					     .keep_accesses = true,
					     .wants_history = true,
					     /* Traces are read both with and without times. */
					     .wants_times = size & 1,
					     .by_thread = size & 2,
					     .is_strict = size & 4 };
	struct allo_error err = { 0 };
	size_t before = allocated_bytes(), after;

	if (!allo_read_memory("fuzz", data, size, &options, &profile, &err) && !allo_failed(&err))
		abort(); /* a failure without a reason */
	after = allocated_bytes();
	if (after > before &&
	    after - before > budget_of((struct allo_text){ (const char *)data, size }))
		abort();
	return 0;
}
