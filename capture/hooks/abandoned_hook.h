/*
 * abandoned_hook.h - finds out whether a hook that a thread seems to be inside of still exists.
 *
 * A signal handler that interrupts a hook may leave it for good with siglongjmp(), an exception or
 * setcontext().  Then no frame of the hook is on the stack any more.
 */
#ifndef ALLO_CAPTURE_ABANDONED_HOOK_H
#define ALLO_CAPTURE_ABANDONED_HOOK_H

#include <stdbool.h>

/* Called in a second hook of the same thread.  True if the stack is known up to its outermost frame
 * and has no other frame of the runtime.  False in a program that contains the runtime: its frames
 * look like the program's. */
bool allo_hook_is_abandoned(void);

#endif
