/*
 * skip.h - reasons why a program that a recorded one executes is not recorded.
 *
 * The runtime announces them by their words, and `allo run` prints their texts.
 */
#ifndef ALLO_WIRE_SKIP_H
#define ALLO_WIRE_SKIP_H

#include <stdbool.h>

/* X(name, word, text) */
#define ALLO_SKIPS(X)                                                                              \
	X(PRELOAD, "preload", "its environment lacks the runtime in LD_PRELOAD")                   \
	X(ORDER, "order", "another library with an allocator comes first in LD_PRELOAD")           \
	X(STATIC, "static", "it is statically linked")                                             \
	X(SETUID, "setuid", "it is setuid")                                                        \
	X(SETGID, "setgid", "it is setgid")                                                        \
	X(CAPABILITIES, "capabilities", "it has file capabilities")                                \
	X(LIBC, "libc", "there is no runtime for its C library")                                   \
	X(MACHINE, "machine", "it is a program for another machine, or a 32-bit program")          \
	X(ASAN, "asan", "it has the allocator of AddressSanitizer")                                \
	X(HWASAN, "hwasan", "it has the allocator of HWAddressSanitizer")                          \
	X(MSAN, "msan", "it has the allocator of MemorySanitizer")                                 \
	X(TSAN, "tsan", "it has the allocator of ThreadSanitizer")                                 \
	X(BUILT_IN, "built-in",                                                                    \
	  "the functions of the allocator that it contains cannot be patched")                     \
	X(NO_EXEC, "no-exec",                                                                      \
	  "it may not change its code (SELinux, seccomp), which has an allocator")                 \
	X(THREADS, "threads",                                                                      \
	  "several threads ran when its own allocator was found, and may have been in it")

enum allo_skip {
	ALLO_SKIP_NONE, /* it is recorded */
#define ALLO_SKIP_ENUM(name, word, text) ALLO_SKIP_##name,
	ALLO_SKIPS(ALLO_SKIP_ENUM)
#undef ALLO_SKIP_ENUM
};

/* Whether preloading our library into the program does nothing.  Its children may be recorded. */
static inline bool allo_skip_is_harmless(enum allo_skip skip)
{
	return skip < ALLO_SKIP_LIBC;
}

#endif
