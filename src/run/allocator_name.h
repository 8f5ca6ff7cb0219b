/*
 * allocator_name.h - which allocator another process has.
 */
#ifndef ALLO_RUN_ALLOCATOR_NAME_H
#define ALLO_RUN_ALLOCATOR_NAME_H

#include "ledger/vmas.h"

/* glibc, jemalloc, tcmalloc or mimalloc, by the libraries that are there and by what the program
 * itself has inside and shares with them; "" if it is another one. */
const char *allo_allocator_name(const struct allo_vmas *vmas, uint64_t pid);

#endif
