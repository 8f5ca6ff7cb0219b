/*
 * modules.h - which modules the addresses of stacks lie in, told in the stream of facts.
 *
 * A module is told when the first frame in it is, and told to have gone after a dlclose.
 */
#ifndef ALLO_CAPTURE_MODULES_H
#define ALLO_CAPTURE_MODULES_H

#include "wire/layout.h"

#include <stdbool.h>

enum { ALLO_MODULES_MAX = 1024 };

struct allo_mapped_module {
	uint64_t start, end;
	const void *map; /* the loader's entry */
};

/* All zeros; whoever calls these has the lock of the stacks. */
struct allo_modules {
	struct allo_wire_slot *facts;
	uint32_t count, last; /* `last`: found last time */
	struct allo_mapped_module known[ALLO_MODULES_MAX];
};

bool allo_modules_begin(struct allo_modules *modules);

/* An address of a new frame. */
void allo_modules_note(struct allo_modules *modules, uint64_t pc);

/* Forgets those that are there no longer. */
void allo_modules_check(struct allo_modules *modules);

#endif
