/* source_facts.c - one replay gives the profile and the facts; the cache keeps the latter. */
#include "engine/source_facts.h"

#include "engine/cache/facts_cache.h"
#include "findings/resident_steps.h"

#include <stdlib.h>

void allo_source_facts_done(struct allo_source_facts *facts)
{
	if (facts->facts)
		allo_facts_done(facts->facts);
	free(facts->facts);
	free(facts->stacks);
	free(facts->resident);
}

static bool read_recording(struct allo_source *source, struct allo_profile_request *request,
			   struct allo_profile *profile, struct allo_source_facts *facts,
			   struct allo_error *err)
{
	struct allo_heap_options options = { 0 };
	struct allo_heap_observer observer;
	bool use_cache = source->options.view.use_cache, is_cached;

	/* Threads are told apart, so that a free knows the allocating thread. */
	options.by_thread = request->by_thread = request->by_thread ||
						 allo_recording_thread_count(&source->recording) >
							 1;
	facts->facts = calloc(1, sizeof(*facts->facts));
	if (!facts->facts)
		return allo_fail_memory(err);
	is_cached = use_cache && allo_facts_cache_load(facts->facts, &source->recording, &options);
	observer = allo_facts_observer(facts->facts);
	request->observer = is_cached ? NULL : &observer;
	request->stacks = &facts->stacks;
	if (!allo_source_profile(source, request, profile, err))
		return false;
	if (use_cache && !is_cached)
		allo_facts_cache_store(facts->facts, &source->recording, &options);
	return allo_resident_steps(&source->recording, request->timeline, &facts->resident, err);
}

bool allo_source_profile_and_facts(struct allo_source *source,
				   const struct allo_profile_request *request,
				   struct allo_profile *profile, struct allo_source_facts *facts,
				   struct allo_error *err)
{
	struct allo_profile_request own = *request;

	own.keep_accesses = true;
	if (!source->is_recording || source->recording.head.sampling.mode == ALLO_MODE_AD_HOC)
		return allo_source_profile(source, &own, profile, err);
	return read_recording(source, &own, profile, facts, err);
}

void allo_source_facts_move(struct allo_source_facts *facts, const struct allo_source *source,
			    const allo_stack_id *became, size_t count)
{
	for (size_t i = 0; facts->stacks && i < source->recording.nodes.len; i++) {
		allo_stack_id stack = facts->stacks[i] < count ? became[facts->stacks[i]] : 0;

		facts->stacks[i] = stack == UINT32_MAX ? 0 : stack; /* its samples were dropped */
	}
}

struct allo_evidence_input allo_source_evidence(const struct allo_source *source,
						const struct allo_profile *profile,
						const struct allo_source_facts *facts,
						const struct allo_timeline *timeline,
						const struct allo_summary *summary)
{
	return (struct allo_evidence_input){
		.profile = profile,
		.facts = facts->facts,
		.stacks = facts->stacks,
		.timeline = source->is_recording ? timeline : NULL,
		.summary = source->is_recording ? summary : NULL,
		.resident = facts->resident,
	};
}
