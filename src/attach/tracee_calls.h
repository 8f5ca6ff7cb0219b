/*
 * tracee_calls.h - calls functions of another process, in one of its threads.
 *
 * The calls run on a stack of their own; those that map and unmap it, where the stack of the main
 * thread has never been.  The thread finds everything as it was: registers, signal mask, and an
 * interrupted system call, which starts again.  Other threads run meanwhile.
 */
#ifndef ALLO_ATTACH_TRACEE_CALLS_H
#define ALLO_ATTACH_TRACEE_CALLS_H

#include "attach/call_state.h"
#include "attach/tracee_modules.h"
#include "attach/tracee_threads.h"

struct allo_tracee_calls {
	struct allo_tracee_threads *threads;
	struct allo_tracee_memory *memory;
	const struct allo_tracee_module *libc;
	size_t thread;
	uint64_t room, code;       /* mapped for the calls: the stack, and the way back */
	uint64_t unused;           /* end of unused memory, while a frame is there; 0: none */
	uint64_t first_frame;      /* there: for calls while ours is not mapped */
	uint64_t frame;            /* on our stack */
	uint64_t result_of_kernel; /* of the last system call */
	bool has_begun;            /* the thread does not run code of the program */
	struct allo_call_state state;
};

/* Prepares a thread that stands where allo_safe_thread_find() left it. */
bool allo_tracee_calls_begin(struct allo_tracee_calls *calls, struct allo_tracee_threads *threads,
			     struct allo_tracee_memory *memory,
			     const struct allo_tracee_module *libc, size_t thread,
			     struct allo_error *err);

/* Calls a function of the C library, or at an address. */
bool allo_tracee_call(struct allo_tracee_calls *calls, uint64_t function,
		      const uint64_t arguments[ALLO_CALL_ARGUMENTS], uint64_t *result,
		      struct allo_error *err);
bool allo_tracee_call_libc(struct allo_tracee_calls *calls, const char *name,
			   const uint64_t arguments[ALLO_CALL_ARGUMENTS], uint64_t *result,
			   struct allo_error *err);

/* Stores a text for the next call; returns its address, 0 on failure. */
uint64_t allo_tracee_calls_text(struct allo_tracee_calls *calls, const char *text);

/* Unmaps what the calls needed, and puts the thread back to where it was; it stands still. */
void allo_tracee_calls_end(struct allo_tracee_calls *calls);

#endif
