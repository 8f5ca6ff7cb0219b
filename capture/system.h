/*
 * system.h - system calls without libc; failures are returned as -errno.
 *
 * The wrappers of libc set errno, may be cancellation points, and may be replaced by the program.
 * None of that is acceptable inside malloc.
 */
#ifndef ALLO_CAPTURE_SYSTEM_H
#define ALLO_CAPTURE_SYSTEM_H

#include "capture/visibility.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* True in a sandbox that forbids some system calls (sandbox.h): the runtime makes none there. */
ALLO_HIDDEN extern bool allo_is_confined;

/* A call that the program itself asked for. */
static inline long allo_program_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	long result = number;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "only x86-64 and aarch64"
#endif
}

/* A call of the runtime.  Fails with -EPERM in a sandbox. */
static inline long allo_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(allo_is_confined, 0))
		return -EPERM;
	return allo_program_syscall(number, a, b, c, d, e, f);
}

#define ALLO_SYSCALL1(number, a)    allo_syscall(number, (long)(a), 0, 0, 0, 0, 0)
#define ALLO_SYSCALL2(number, a, b) allo_syscall(number, (long)(a), (long)(b), 0, 0, 0, 0)
#define ALLO_SYSCALL3(number, a, b, c)                                                             \
	allo_syscall(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define ALLO_SYSCALL4(number, a, b, c, d)                                                          \
	allo_syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* ThreadSanitizer must see mappings: otherwise it takes memory that is mapped again for the memory
 * of the thread that had unmapped it. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ALLO_SEEN_BY_SANITIZER
#endif
#endif

/* Like mmap(2), but returns NULL on failure. */
static inline void *allo_map(size_t size, int protection, int flags, int fd, uint64_t offset)
{
#ifdef ALLO_SEEN_BY_SANITIZER
	void *memory = mmap(NULL, size, protection, flags, fd, (off_t)offset);

	return memory == MAP_FAILED ? NULL : memory;
#else
	long result = allo_syscall(SYS_mmap, 0, (long)size, protection, flags, fd, (long)offset);

	return result < 0 && result > -4096 ? NULL : (void *)result;
#endif
}

static inline void allo_unmap(void *memory, size_t size)
{
#ifdef ALLO_SEEN_BY_SANITIZER
	munmap(memory, size);
#else
	ALLO_SYSCALL2(SYS_munmap, memory, size);
#endif
}

/* Memory for a sandbox, which is mapped before the program enters it: as much of `size` bytes as
 * the limits of the process allow. */
void allo_confined_memory_prepare(size_t size);

/* Zeroed memory from there; NULL if it is used up. */
void *allo_confined_memory(size_t size);

/*
 * Zeroed memory that a child made by fork finds zeroed again.  NULL if out of memory.
 *
 * A signal handler may fork inside of a hook; the hook then continues in the child.  So an
 * assertion about this memory in a hook must also hold for zeros.
 */
static inline void *allo_map_private(size_t size)
{
	void *memory;

	if (allo_is_confined)
		return allo_confined_memory(size);
	memory = allo_map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);
	if (memory && ALLO_SYSCALL3(SYS_madvise, memory, size, MADV_WIPEONFORK) < 0) {
		allo_unmap(memory, size);
		return NULL;
	}
	return memory;
}

/* Enlarges such memory; it may move.  NULL leaves it unchanged. */
static inline void *allo_remap(void *memory, size_t size, size_t larger)
{
	long result = ALLO_SYSCALL4(SYS_mremap, memory, size, larger, MREMAP_MAYMOVE);

	if (allo_is_confined) {
		void *copy = allo_confined_memory(larger);

		return copy ? memcpy(copy, memory, size) : NULL;
	}
	return result < 0 && result > -4096 ? NULL : (void *)result;
}

static inline void allo_sleep_ns(uint64_t ns)
{
	struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	ALLO_SYSCALL2(SYS_nanosleep, &time, 0);
}

/* The runtime's descriptors start here: programs expect small numbers for theirs. */
enum { ALLO_FD_LEAST = 512 };

/* Number of this thread and process.  In a helper (helper_process.h) the process is the program. */
uint32_t allo_thread_number(void);
uint32_t allo_process_number(void);

/* The process that the calling thread's helper works for; 0: there is no helper. */
ALLO_HIDDEN extern __thread uint32_t allo_helped_process;

#endif
