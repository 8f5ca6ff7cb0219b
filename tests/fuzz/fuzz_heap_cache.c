/*
 * fuzz_heap_cache.c - any bytes as a file of the heap cache, behind a valid key and checksum.
 *
 * The heap belongs to a small recording with labels, marks and events of the program.  If the bytes
 * are accepted, a profile is made of them.
 */
#include "base/defer.h"
#include "recordings.h"
#include "replay/heap_cache.h"
#include "replay/recording_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct allo_recording *recording, struct allo_text bytes, bool by_thread)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_marks_done) struct allo_marks marks = { 0 };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	const struct allo_heap_options options = { .by_thread = by_thread,
						   .marks = &marks,
						   .wants_births = true };
	struct allo_replay replay = { .heap = &heap, .by_thread = by_thread };
	struct allo_error err = { 0 };
	uint64_t events;

	if (allo_heap_cache_fill(&heap, recording, &options, bytes, &events, &err) &&
	    allo_profile_from_recording(&profile, recording, &replay, NULL, &err) &&
	    !allo_profile_validate(&profile, &err))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct recorder recorder;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_text bytes = { (const char *)data, size };
	struct allo_error err = { 0 };

	if (!recorder.file)
		record_notes(&recorder);
	if (!allo_input_open_memory(&in, "fuzz", recorder.file, recorder.slots * ALLO_SLOT_SIZE,
				    &err) ||
	    !allo_recording_open(&recording, &in, &err))
		abort();
	use(&recording, bytes, false);
	use(&recording, bytes, true);
	return 0;
}
