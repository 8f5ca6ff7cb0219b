/*
 * attach_entries.h - the hooks of a runtime that `allo attach` has loaded into a running process.
 *
 * The program is bound to libc's functions already and would not call ours.  So the entries of
 * libc's functions become jumps to ours (capture/patch).  This process prepares the jumps; `allo
 * attach` writes them while all threads stand still, and `allo detach` takes them back.
 */
#ifndef ALLO_CAPTURE_ATTACH_ENTRIES_H
#define ALLO_CAPTURE_ATTACH_ENTRIES_H

#include "wire/attach_plan.h"

/* Called from outside, in any thread of the process.  Fills allo_attach_plan, the first time, and
 * starts the control thread.  `program` is the name of the program. */
__attribute__((visibility("default"))) void allo_attach_prepare(const char *program);

__attribute__((visibility("default"))) extern struct allo_attach_plan allo_attach_plan;

/* Marks the plan as readable, once the library is loaded and its constructors have run.  Weak: a
 * build without hooks does not define it. */
void allo_attach_ready(void) __attribute__((weak, visibility("hidden")));

#endif
