/*
 * safe_thread.h - finds a thread that may load a library now.
 *
 * A thread that is in the dynamic linker or in the allocator, or in a signal handler that has
 * interrupted them, holds locks that loading needs.
 */
#ifndef ALLO_ATTACH_SAFE_THREAD_H
#define ALLO_ATTACH_SAFE_THREAD_H

#include "attach/tracee_modules.h"
#include "attach/tracee_threads.h"

/* Stops threads one after the other until one may load a library, and leaves that one stopped. */
bool allo_safe_thread_find(struct allo_tracee_threads *threads, struct allo_tracee_memory *memory,
			   const struct allo_tracee_modules *modules, size_t *index,
			   struct allo_error *err);

#endif
