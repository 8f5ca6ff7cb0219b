/*
 * source_facts.h - the profile of a source, and the facts about it that findings need.
 */
#ifndef ALLO_ENGINE_SOURCE_FACTS_H
#define ALLO_ENGINE_SOURCE_FACTS_H

#include "engine/source.h"
#include "findings/evidence.h"

/* All zeros is empty.  All members are NULL for files other than recordings of allocations. */
struct allo_source_facts {
	struct allo_facts *facts;
	allo_stack_id *stacks; /* of the profile, by node */
	uint64_t *resident;    /* by step of the timeline: malloc's memory; NULL: unknown */
};

void allo_source_facts_done(struct allo_source_facts *facts);

/*
 * Reads the profile as allo_source_profile() does, and the facts in the same pass, or both from the
 * cache.  Of a recording, `request` must have a timeline and a summary.
 */
bool allo_source_profile_and_facts(struct allo_source *source,
				   const struct allo_profile_request *request,
				   struct allo_profile *profile, struct allo_source_facts *facts,
				   struct allo_error *err);

/* Follows a filter of the profile: `became` is the new stack of each of its `count` old ones. */
void allo_source_facts_move(struct allo_source_facts *facts, const struct allo_source *source,
			    const allo_stack_id *became, size_t count);

/* The input of the rules, from these parts.  `timeline` and `summary` are those of the
 * request, and ignored for files other than recordings. */
struct allo_evidence_input allo_source_evidence(const struct allo_source *source,
						const struct allo_profile *profile,
						const struct allo_source_facts *facts,
						const struct allo_timeline *timeline,
						const struct allo_summary *summary);

#endif
