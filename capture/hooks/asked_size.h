/*
 * asked_size.h - passes the size that a caller of operator new asked for on to the hook that
 * records.
 *
 * The operators of the C++ library call malloc with 1 byte for a size of 0, and aligned_alloc with
 * a multiple of the alignment.  The hook of the operator notes the size for the hook of malloc,
 * which the same thread enters next.  The note counts only if that call comes from the operator and
 * its size is plausible: an operator may also fail, or have an allocator that does not call malloc.
 */
#ifndef ALLO_CAPTURE_ASKED_SIZE_H
#define ALLO_CAPTURE_ASKED_SIZE_H

#include "capture/file/record.h"

struct allo_asked_size {
	size_t size;
	size_t slack;      /* bytes that the operator may add */
	uint64_t function; /* the operator; 0: there is no note */
	/* The state of the thread, if it was taken from allo_self. */
	struct allo_thread_state *self;
};

ALLO_HIDDEN extern __thread struct allo_asked_size allo_asked_size;

/* Notes a size that the operator `function` will increase by at most `slack` bytes. */
void allo_asked_size_note(size_t size, size_t slack, const void *function);

/* Notes a size of 0 for an operator that calls malloc.  The short hooks of malloc do not look for
 * notes.  Without allo_self, they leave the call to the general one. */
void allo_asked_size_note_zero(const void *function);

/* Gives the thread its state back. */
static inline void allo_asked_size_return_self(void)
{
	if (allo_asked_size.self) {
		allo_self = allo_asked_size.self;
		allo_asked_size.self = NULL;
	}
}

size_t allo_asked_size_take(size_t size, struct allo_hook_frame frame);

/* The size to record for a successful allocation of `size` bytes. */
static inline size_t allo_asked_size_find(size_t size, struct allo_hook_frame frame)
{
	return __builtin_expect(allo_asked_size.function == 0, 1)
		       ? size
		       : allo_asked_size_take(size, frame);
}

#endif
