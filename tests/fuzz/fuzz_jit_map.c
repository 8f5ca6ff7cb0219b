/* fuzz_jit_map.c - any bytes as a map of compiled code, /tmp/perf-PID.map. */
#include "base/defer.h"
#include "symbols/jit_map.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };
	struct allo_frame frame = { 0 };

	for (frame.address = 0x1000; frame.address < 0x2000; frame.address += 64)
		allo_profile_add_frame(&profile, &frame, NULL, 0, &err);
	frame.address = UINT64_MAX;
	allo_profile_add_frame(&profile, &frame, NULL, 0, &err);
	if (!allo_input_open_memory(&in, "fuzz", data, size, &err) ||
	    !allo_jit_map_read(&profile, &in, &err))
		return 0;
	if (!allo_profile_validate(&profile, &err))
		abort();
	return 0;
}
