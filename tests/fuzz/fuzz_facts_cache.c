/*
 * fuzz_facts_cache.c - any bytes as a file of facts in the cache, behind a valid key and checksum.
 *
 * The facts belong to a small recording.  If the bytes are accepted, all rules look at them.
 */
#include "base/defer.h"
#include "engine/cache/facts_cache.h"
#include "findings/findings.h"
#include "recordings.h"
#include "replay/recording_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct allo_facts *facts, struct allo_recording *recording)
{
	ALLO_DEFER(allo_timeline_done) struct allo_timeline timeline = { .most = 200 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_evidence_done) struct allo_evidence evidence = { 0 };
	ALLO_DEFER(allo_findings_done) struct allo_findings findings = { 0 };
	ALLO_DEFER(allo_free_pointer) allo_stack_id *stacks = NULL;
	const struct allo_replay replay = { .timeline = &timeline, .stacks = &stacks };
	struct allo_findings_options options = { 0 };
	struct allo_summary summary;
	struct allo_error err = { 0 };

	if (!allo_profile_from_recording(&profile, recording, &replay, &summary, &err))
		abort();
	allo_thresholds_init(&options.thresholds);
	if (!allo_evidence_of(&evidence,
			      &(struct allo_evidence_input){ .profile = &profile,
							     .facts = facts,
							     .stacks = stacks,
							     .timeline = &timeline,
							     .summary = &summary },
			      &err) ||
	    !allo_findings_of(&findings, &evidence, &options, &err))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct recorder recorder;
	static struct allo_facts facts;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	if (!recorder.file)
		record_notes(&recorder);
	if (!allo_input_open_memory(&in, "fuzz", recorder.file, recorder.slots * ALLO_SLOT_SIZE,
				    &err) ||
	    !allo_recording_open(&recording, &in, &err))
		abort();
	if (allo_facts_cache_fill(&facts, &recording,
				  (struct allo_text){ (const char *)data, size }))
		judge(&facts, &recording);
	allo_facts_done(&facts);
	memset(&facts, 0, sizeof(facts));
	return 0;
}
