/*
 * content_ids.h - stable ids of modules, functions, frames and stacks, hashed from their contents.
 *
 * The same stack of the same program has the same id in every run and every file, independent of
 * load addresses.  A frame's id is a hash of the module's build id (or path) and the offset in the
 * module; a frame outside of modules is hashed by its names.  Ids are 1 to 2^63 - 1, since
 * databases have signed integers; 0 is none.
 */
#ifndef ALLO_PROFILE_CONTENT_IDS_H
#define ALLO_PROFILE_CONTENT_IDS_H

#include "profile/profile.h"

/* Indexed by the profile's ids.  All zeros: nothing to free. */
struct allo_content_ids {
	int64_t *modules, *functions, *frames, *stacks;
	/* By stack: the first one with its id, such as itself.  Stacks through two copies of one
	 * library in a process are equal. */
	allo_stack_id *first_stacks;
	size_t stack_count; /* with [0], which is no stack */
};

bool allo_content_ids_init(struct allo_content_ids *ids, const struct allo_profile *profile,
			   struct allo_error *err);

void allo_content_ids_done(struct allo_content_ids *ids);

/* The id of one inlined call of a frame or stack with this id.  Calls count from the innermost one,
 * 0, which keeps the id: so ids do not depend on whether inlining is known. */
int64_t allo_content_call_id(int64_t id, uint32_t call);

/* The id of a function that has only a name. */
int64_t allo_content_name_id(struct allo_text name);

/* Offset of a frame's address in its module; the address when the module's range is unknown. */
uint64_t allo_module_offset(const struct allo_profile *profile, const struct allo_frame *frame);

#endif
