/*
 * allocator_state.h - how far an allocator in a recorded process is recorded, besides libc's.
 *
 * The runtime notes the numbers in recordings and announces the words; `allo` prints the texts: the
 * reason why it is not recorded, except for the first and the last.  The last is the program's own.
 */
#ifndef ALLO_WIRE_ALLOCATOR_STATE_H
#define ALLO_WIRE_ALLOCATOR_STATE_H

#include <stddef.h>
#include <stdint.h>

/* X(name, number, word, text) */
#define ALLO_ALLOCATOR_STATES(X)                                                                   \
	X(LATE, 1, "late", "recorded since its module was first seen")                             \
	X(UNPATCHABLE, 2, "unpatchable", "its functions cannot be patched")                        \
	X(NO_EXEC, 3, "no-exec", "the process may not change its code (SELinux, seccomp)")         \
	X(THREADS, 4, "threads", "several threads ran when it was found, and may have been in it") \
	X(ATTACHED, 5, "attached", "'allo attach' records malloc and new only")                    \
	X(OWN, 6, "own", "recorded from the start")

enum allo_allocator_state {
	ALLO_ALLOCATOR_RECORDED, /* from the start, in a library: there is no note of it */
#define ALLO_ALLOCATOR_ENUM(name, number, word, text) ALLO_ALLOCATOR_##name = number,
	ALLO_ALLOCATOR_STATES(ALLO_ALLOCATOR_ENUM)
#undef ALLO_ALLOCATOR_ENUM
};

/* The text for a number; NULL if it is of a later version. */
static inline const char *allo_allocator_state_text(uint64_t state)
{
	switch (state) {
#define ALLO_ALLOCATOR_TEXT(name, number, word, text)                                              \
	case number:                                                                               \
		return text;
		ALLO_ALLOCATOR_STATES(ALLO_ALLOCATOR_TEXT)
#undef ALLO_ALLOCATOR_TEXT
	default:
		return NULL;
	}
}

#endif
