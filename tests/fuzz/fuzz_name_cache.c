/* fuzz_name_cache.c - any bytes as a file of the name cache, whose checksum is not checked. */
#include "base/defer.h"
#include "symbols/name_cache.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 64 }; /* bytes, at least: a shorter file is never used */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_name_cache_done) struct allo_name_cache cache = { 0 };
	ALLO_DEFER(allo_spots_done) struct allo_spots spots = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile names = { 0 };
	struct allo_error err = { 0 };

	if (size < HEAD || !allo_vec_append(&cache.bytes, (const char *)data, size))
		return 0;
	for (uint64_t address = 0; address < 256; address++)
		allo_vec_add(&spots.spots, ((struct allo_spot){ .address = address }), &err);
	if (!allo_name_cache_use(&cache, &spots, &names, &err))
		return 0;
	for (size_t i = 0; i < spots.spots.len; i++) {
		const struct allo_spot *spot = &spots.spots.at[i];

		if (spot->is_known && spot->first_line + spot->line_count > spots.lines.len)
			abort();
	}
	if (!allo_profile_validate(&names, &err))
		abort();
	return 0;
}
