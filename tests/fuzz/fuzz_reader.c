/*
 * fuzz_reader.c - any bytes through one reader, and what it makes of them through every writer.
 *
 * FUZZED_READER is the reader's name.  Readers validate what they build, so all that is left to find is
 * crashes, leaks, hangs and undefined behaviour.
 */
#include "base/defer.h"
#include "readers/readers.h"
#include "writers/writers.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct allo_profile *profile)
{
	for (size_t i = 0; allo_writers[i]; i++) {
		ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
		struct allo_output_options plain = { .packing = ALLO_PLAIN };
		struct allo_error err = { 0 };

		if (allo_output_open_memory(&out, &plain, &err) &&
		    allo_write(allo_writers[i], profile, NULL, &out, NULL, &err))
			allo_output_finish(&out, &err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_read_options options = { .from = FUZZED_READER, .keep_accesses = true };
	struct allo_error err = { 0 };

	if (allo_read_memory("fuzz", data, size, &options, &profile, &err))
		write_all(&profile);
	else if (!allo_failed(&err))
		abort(); /* a failure without a reason */
	return 0;
}
