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
	X(STATIC, "static", "it is statically linked")                                             \
	X(SETUID, "setuid", "it is setuid")                                                        \
	X(SETGID, "setgid", "it is setgid")                                                        \
	X(CAPABILITIES, "capabilities", "it has file capabilities")                                \
	X(LIBC, "libc", "it uses another C library than glibc")                                    \
	X(MACHINE, "machine", "it is a program for another machine, or a 32-bit program")          \
	X(ASAN, "asan", "it has the allocator of AddressSanitizer")                                \
	X(HWASAN, "hwasan", "it has the allocator of HWAddressSanitizer")                          \
	X(MSAN, "msan", "it has the allocator of MemorySanitizer")                                 \
	X(TSAN, "tsan", "it has the allocator of ThreadSanitizer")

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
