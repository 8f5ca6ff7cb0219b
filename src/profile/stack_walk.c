/* stack_walk.c - lists of callees, and a walk along them without recursion. */
#include "profile/stack_walk.h"

#include "base/assert.h"

#include <stdlib.h>

void allo_stack_walk_done(struct allo_stack_walk *walk)
{
	free(walk->first_callee);
	free(walk->next_callee);
}

bool allo_stack_walk_init(struct allo_stack_walk *walk, const struct allo_profile *profile,
			  struct allo_error *err)
{
	size_t count = profile->stacks.len ? profile->stacks.len : 1;

	*walk = (struct allo_stack_walk){
		.profile = profile,
		.first_callee = calloc(count, sizeof(*walk->first_callee)),
		.next_callee = calloc(count, sizeof(*walk->next_callee)),
	};
	if (!walk->first_callee || !walk->next_callee)
		return allo_fail_memory(err);
	for (size_t i = count; i-- > 1;) {
		allo_stack_id caller = profile->stacks.at[i].parent;

		ALLO_ASSERT(caller < i);
		walk->next_callee[i] = walk->first_callee[caller];
		walk->first_callee[caller] = (allo_stack_id)i;
	}
	return true;
}

allo_stack_id allo_stack_walk_next(struct allo_stack_walk *walk)
{
	allo_stack_id at = walk->at;

	if (!walk->is_leaving && walk->first_callee[at] != 0)
		return walk->at = walk->first_callee[at];
	if (!walk->is_leaving || at == 0) {
		walk->is_leaving = true;
		return at;
	}
	if (walk->next_callee[at] != 0) {
		walk->is_leaving = false;
		return walk->at = walk->next_callee[at];
	}
	return walk->at = walk->profile->stacks.at[at].parent;
}
