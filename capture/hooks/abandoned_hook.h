/*
 * abandoned_hook.h - finds out whether a hook that a thread seems to be inside of still exists.
 *
 * A signal handler that interrupts a hook may leave it for good with siglongjmp(), an exception or
 * setcontext().  Then no frame of the hook is on the stack any more.
 */
#ifndef ALLO_CAPTURE_ABANDONED_HOOK_H
#define ALLO_CAPTURE_ABANDONED_HOOK_H

#include "capture/file/record.h"

/* `entered` is the frame of a function that a second hook of the same thread has called.  True if
 * the stack is known up to its outermost frame and has no frame of the runtime outside of that
 * hook.  False in a program that contains the runtime: its frames look like the program's. */
bool allo_hook_is_abandoned(struct allo_hook_frame entered);

#endif
