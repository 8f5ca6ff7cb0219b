#include "findings/resident_steps.h"

#include "replay/recording/resident.h"

#include <stdlib.h>

/* The resident memory that malloc does not hold, near the peak: code, stacks, the recorder. */
static bool other_resident(const struct allo_resident *resident, uint64_t *bytes)
{
	uint64_t heap = resident->parts[ALLO_RESIDENT_HEAP];

	*bytes = resident->parts_bytes > heap ? resident->parts_bytes - heap : 0;
	return resident->parts_bytes > 0 && heap > 0;
}

bool allo_resident_steps(const struct allo_recording *recording,
			 const struct allo_timeline *timeline, uint64_t **steps,
			 struct allo_error *err)
{
	const struct allo_resident resident = allo_resident_of(recording);
	uint64_t other;

	*steps = NULL;
	if (!other_resident(&resident, &other))
		return true;
	*steps = calloc(timeline->steps.len + 1, sizeof(**steps));
	if (!*steps)
		return allo_fail_memory(err);
	for (size_t i = 0; i < timeline->steps.len; i++) {
		uint64_t from_ns = timeline->from_ns + i * timeline->step_ns;
		uint64_t all = allo_resident_within(recording, from_ns,
						    from_ns + timeline->step_ns);

		(*steps)[i] = all > other ? all - other : 0;
	}
	return true;
}
