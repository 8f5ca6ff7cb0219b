/*
 * live_sites.h - which functions of a program hold what, while its heap goes on.
 *
 * A stack is named once, when it is first seen: its site is the innermost function that is no
 * allocator's.  So a look at the heap costs no look at debug information but for what is new.
 */
#ifndef ALLO_CLI_LIVE_SITES_H
#define ALLO_CLI_LIVE_SITES_H

#include "base/map.h"
#include "cli/common.h"
#include "replay/follow.h"

struct allo_live_site {
	struct allo_text name, file; /* the file may be empty */
	uint64_t live_bytes, live_blocks;
	uint64_t alloc_blocks, alloc_bytes; /* since the start */
	uint64_t earlier_blocks;            /* alloc_blocks at the look before */
};

/* All zeros: nothing to drop. */
struct allo_live_sites {
	ALLO_VEC(struct allo_live_site) all;

	/* Private. */
	ALLO_VEC(uint32_t) of_stack; /* by number of a stack: index + 1; 0: not named yet */
	struct allo_map map;
	struct allo_arena arena;
};

/* Adds up what the heap has by now. */
bool allo_live_sites_look(struct allo_live_sites *sites, struct allo_follow *follow,
			  const struct allo_common *common, struct allo_error *err);

void allo_live_sites_done(struct allo_live_sites *sites);

#endif
