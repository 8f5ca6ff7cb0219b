/*
 * fuzz_source_answers.c - any bytes as a cached answer about threads, or about groups of sites over
 * time, of a small recording.
 */
#include "base/defer.h"
#include "engine/source_answers.h"
#include "recordings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { GROUPS = 3, STEPS = 64 };

static void read_threads(const struct allo_recording *recording, struct allo_text bytes)
{
	ALLO_DEFER(allo_thread_totals_done) struct allo_thread_totals totals = { 0 };

	if (allo_thread_totals_fill(&totals, recording, bytes) &&
	    totals.threads.len != recording->streams.len)
		abort();
}

/* Charts draw the groups upon each other, step by step. */
static void check_steps(const struct allo_timeline *one, const struct allo_timeline *first)
{
	if (one->steps.len == 0 || one->steps.len > one->most || one->step_ns == 0 ||
	    one->steps.len != first->steps.len || one->step_ns != first->step_ns ||
	    one->from_ns != first->from_ns)
		abort();
	allo_timeline_active_ns(one, one->end_ns);
}

static void read_groups(const struct allo_recording *recording, struct allo_text bytes)
{
	struct allo_timeline groups[GROUPS] = { { .most = STEPS },
						{ .most = STEPS },
						{ .most = STEPS } };
	struct allo_split_timeline split = { .groups = groups, .count = GROUPS };

	if (allo_split_timeline_fill(&split, recording, bytes)) {
		for (size_t i = 0; i < GROUPS; i++)
			check_steps(&groups[i], &groups[0]);
	}
	for (size_t i = 0; i < GROUPS; i++)
		allo_timeline_done(&groups[i]);
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
	read_threads(&recording, bytes);
	read_groups(&recording, bytes);
	return 0;
}
