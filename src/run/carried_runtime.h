/*
 * carried_runtime.h - the runtimes inside of a standalone allo.
 *
 * The dynamic linker loads files only, so they are written into a folder that belongs to the user
 * and that nobody else can change: for root in /run, since programs that change their user must
 * read them; otherwise in the cache of the user, or in /tmp.  They stay there for the next run.
 */
#ifndef ALLO_RUN_CARRIED_RUNTIME_H
#define ALLO_RUN_CARRIED_RUNTIME_H

#include "wire/runtime_name.h"

/* The path of the runtime, to be freed.  NULL if allo carries none, or if no folder is fit for it:
 * errno says why. */
char *allo_carried_runtime(enum allo_libc libc);

#endif
