/*
 * content_ids.h - ids of modules, functions, frames and stacks that are made of what they are.
 *
 * The same stack of the same program has the same id in every run and in every file, wherever the
 * program was loaded: what goes in is the module's build-id, or else its path, and the offset in
 * it.  Frames without a place in a module are known by their names.  Ids are from 1 to 2^63 - 1, as
 * databases have them; 0 is none.
 */
#ifndef ALLO_PROFILE_CONTENT_IDS_H
#define ALLO_PROFILE_CONTENT_IDS_H

#include "profile/profile.h"

/* By the profile's own ids; NULL for tables that the profile does not have.  All zeros: nothing to
 * free. */
struct allo_content_ids {
	int64_t *modules, *functions, *frames, *stacks;
};

bool allo_content_ids_init(struct allo_content_ids *ids, const struct allo_profile *profile,
			   struct allo_error *err);

void allo_content_ids_done(struct allo_content_ids *ids);

/* The id of one call of a frame or of a stack whose id is given: calls that are inlined into each
 * other are counted from the innermost one, 0, which has the id itself.  So ids do not depend on
 * whether anybody knows of inlining. */
int64_t allo_content_call_id(int64_t id, uint32_t call);

/* The id of a function of which only a name is known. */
int64_t allo_content_name_id(struct allo_text name);

/* An address as an offset in the module; the address itself where that is not known. */
uint64_t allo_module_offset(const struct allo_profile *profile, const struct allo_frame *frame);

#endif
