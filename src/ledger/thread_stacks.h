/*
 * thread_stacks.h - which mappings are the stacks of threads.
 */
#ifndef ALLO_LEDGER_THREAD_STACKS_H
#define ALLO_LEDGER_THREAD_STACKS_H

#include "ledger/other_memory.h"
#include "ledger/vmas.h"

/* Marks them, by `is_stack`.  A stack of libc's has a guard below it, and is that of a thread
 * whose stack pointer is in it, or ends with what libc keeps of a thread, which may be gone.
 * Returns how many threads there are; 0: not known. */
uint64_t allo_thread_stacks_mark(struct allo_vmas *vmas, const struct allo_other_memory *memory);

#endif
