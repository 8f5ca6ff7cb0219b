/*
 * allocator_stats_proxy.h - reads the allocator's statistics on behalf of the control thread.
 *
 * Allocators keep thread-local state by libc's means, which the control thread does not have.  So
 * the program's next thread that allocates or frees reads the statistics first: where it may call
 * malloc(), it may call this as well.  Without a request this costs nothing.
 */
#ifndef ALLO_CAPTURE_ALLOCATOR_STATS_PROXY_H
#define ALLO_CAPTURE_ALLOCATOR_STATS_PROXY_H

#include <allo.h>

/* Reads the statistics through a thread of the program; waits at most 50 ms for one.  Returns the
 * reason for missing numbers, else "".  Only the control thread calls this. */
const char *allo_allocator_proxy_read(struct allo_allocator_memory *memory);

/* Whether a request waits for a thread of the program; and the call with which one serves it. */
bool allo_allocator_proxy_is_pending(void);
void allo_allocator_proxy_serve(void);

#endif
