/*
 * probes.c - the probes as USDT notes.
 *
 * The functions are external and not inlined, because the notes say that the arguments are in the
 * registers of the calling convention.
 */
#include "capture/hooks/probes.h"

/* The registers of a function's first three arguments. */
#if defined(__x86_64__)
#define FIRST  "8@%%rdi"
#define SECOND " 8@%%rsi"
#define THIRD  " 8@%%rdx"
#else
#define FIRST  "8@x0"
#define SECOND " 8@x1"
#define THIRD  " 8@x2"
#endif

/* The note format of SystemTap's <sys/sdt.h>: owner; addresses of the probe, of a section that
 * shows how far the loader moved the file, and of a counter (none); provider, name and arguments.
 */
#define PROBE(name, arguments)                                                                     \
	__asm__ volatile("990: nop\n"                                                              \
			 ".pushsection .note.stapsdt, \"?\", \"note\"\n"                           \
			 ".balign 4\n"                                                             \
			 ".4byte 992f - 991f, 994f - 993f, 3\n"                                    \
			 "991: .asciz \"stapsdt\"\n"                                               \
			 "992: .balign 4\n"                                                        \
			 "993: .8byte 990b, _.stapsdt.base, 0\n"                                   \
			 ".asciz \"otel_memory\"\n"                                                \
			 ".asciz \"" name "\"\n"                                                   \
			 ".asciz \"" arguments "\"\n"                                              \
			 "994: .balign 4\n"                                                        \
			 ".popsection\n"                                                           \
			 ".ifndef _.stapsdt.base\n"                                                \
			 ".pushsection .stapsdt.base, \"aG\", \"progbits\", "                      \
			 ".stapsdt.base, comdat\n"                                                 \
			 ".weak _.stapsdt.base\n"                                                  \
			 ".hidden _.stapsdt.base\n"                                                \
			 "_.stapsdt.base: .space 1\n"                                              \
			 ".size _.stapsdt.base, 1\n"                                               \
			 ".popsection\n"                                                           \
			 ".endif\n" ::                                                             \
				 : "memory")

__attribute__((noinline)) void allo_probe_alloc(const void *block, uint64_t size,
						uint64_t weighted_bytes)
{
	(void)block;
	(void)size;
	(void)weighted_bytes;
	PROBE("alloc", FIRST SECOND THIRD);
}

__attribute__((noinline)) void allo_probe_free(const void *block)
{
	(void)block;
	PROBE("free", FIRST);
}
