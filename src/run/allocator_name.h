/*
 * allocator_name.h - guesses the allocator of another process.
 */
#ifndef ALLO_RUN_ALLOCATOR_NAME_H
#define ALLO_RUN_ALLOCATOR_NAME_H

#include "ledger/vmas.h"

/* "glibc", "jemalloc", "tcmalloc" or "mimalloc", from the loaded libraries and the symbols of the
 * program; ALLO_GO for a Go program; "" for any other. */
const char *allo_allocator_name(const struct allo_vmas *vmas, uint64_t pid);

#endif
