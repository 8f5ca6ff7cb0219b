/*
 * allocator_stats_proxy.h - what the allocator says of itself, for a thread that may not ask it.
 *
 * Allocators keep something for each thread that calls them, by libc's means, which our own thread
 * does not have.  So the next one of the program's that allocates or frees something is sent to
 * ask, before it does: where it may call malloc() it may call this as well.  While nobody asks it
 * costs nothing.
 */
#ifndef ALLO_CAPTURE_ALLOCATOR_STATS_PROXY_H
#define ALLO_CAPTURE_ALLOCATOR_STATS_PROXY_H

#include <allo.h>

/* Waits for a twentieth of a second.  Returns why figures are missing; "" if none are.  For one
 * thread. */
const char *allo_allocator_proxy_read(struct allo_allocator_memory *memory);

/* Whether a thread is to be sent; and what it does. */
bool allo_allocator_proxy_is_pending(void);
void allo_allocator_proxy_serve(void);

#endif
