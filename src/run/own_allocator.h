/*
 * own_allocator.h - finds programs whose memory the runtime does not see: they call an allocator
 * by functions that it does not find.
 */
#ifndef ALLO_RUN_OWN_ALLOCATOR_H
#define ALLO_RUN_OWN_ALLOCATOR_H

#include "run/direct_allocator.h"
#include "run/recordings.h"

#include <stdbool.h>

/* Says that a program has an allocator that is not recorded, if it has. */
void allo_own_allocator_tell(const struct allo_direct_allocator *allocator, const char *name);

/* Sets `allocator` of the programs that were executed since the last time.  Unless quiet, it also
 * tells: a server may never end. */
void allo_own_allocators_look(struct allo_recordings *recordings, bool is_quiet);

#endif
