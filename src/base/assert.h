/*
 * assert.h - invariants, checked in test and fuzz builds and free in all others.
 *
 *     ALLO_ASSERT(id < profile->stacks.len);
 *
 * A failed assertion is a bug in this project, never a property of the input: input is checked by
 * ordinary code that reports an error.  The condition must have no side effects.
 *
 * The runtime uses this header inside other programs, so a failure needs neither stdio nor malloc.
 */
#ifndef ALLO_BASE_ASSERT_H
#define ALLO_BASE_ASSERT_H

#ifdef ALLO_ASSERTIONS

#include <unistd.h>

#define ALLO_ASSERT_STRING_2(number) #number
#define ALLO_ASSERT_STRING(number)   ALLO_ASSERT_STRING_2(number)
#define ALLO_ASSERT_MESSAGE(condition)                                                             \
	__FILE__ ":" ALLO_ASSERT_STRING(__LINE__) ": assertion failed: " condition "\n"

#define ALLO_ASSERT(condition)                                                                     \
	do {                                                                                       \
		if (__builtin_expect(!(condition), 0)) {                                           \
			static const char allo_assert_text[] = ALLO_ASSERT_MESSAGE(#condition);    \
			ssize_t allo_assert_written = write(STDERR_FILENO, allo_assert_text,       \
							    sizeof(allo_assert_text) - 1);         \
			(void)allo_assert_written;                                                 \
			__builtin_trap();                                                          \
		}                                                                                  \
	} while (0)

#else

/* The operand of sizeof is compiled but not evaluated, so an assertion cannot go stale. */
#define ALLO_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))

#endif

#endif
