/* real.c - finding the real functions, and replacements until they are found. */
#include "capture/hooks/real.h"
#include "capture/stacks/modules.h"
#include "capture/system.h"
#include "capture/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

char allo_early[ALLO_EARLY_SIZE] __attribute__((aligned(16)));

static void *early_malloc(size_t size)
{
	static size_t used;
	size_t at = used + 16; /* the size is stored in front */

	if (size > ALLO_EARLY_SIZE || at + size > ALLO_EARLY_SIZE) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(allo_early + used, &size, sizeof(size));
	used = (at + size + 15) & ~(size_t)15;
	return allo_early + at;
}

static void *early_calloc(size_t count, size_t size)
{
	/* Memory is never reused, so it is zero. */
	if (__builtin_mul_overflow(count, size, &size))
		size = SIZE_MAX;
	return early_malloc(size);
}

static void *early_realloc(void *pointer, size_t size)
{
	void *moved = early_malloc(size);
	size_t old = 0;

	if (moved && pointer) {
		memcpy(&old, (char *)pointer - 16, sizeof(old));
		memcpy(moved, pointer, old < size ? old : size);
	}
	return moved;
}

static void early_free(void *pointer)
{
	(void)pointer;
}

/* Turns -errno into errno and -1. */
static long result_of(long result)
{
	if (result >= 0 || result <= -4096)
		return result;
	errno = (int)-result;
	return -1;
}

static void *early_mmap(void *address, size_t length, int protection, int flags, int fd,
			off_t offset)
{
	return (void *)result_of(allo_program_syscall(SYS_mmap, (long)address, (long)length,
						      protection, flags, fd, offset));
}

static int early_munmap(void *address, size_t length)
{
	return (int)result_of(
		allo_program_syscall(SYS_munmap, (long)address, (long)length, 0, 0, 0, 0));
}

static void *early_mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	va_list more;
	void *fixed;

	va_start(more, flags);
	fixed = va_arg(more, void *);
	va_end(more);
	return (void *)result_of(allo_program_syscall(SYS_mremap, (long)old, (long)old_length,
						      (long)length, flags, (long)fixed, 0));
}

/* libc caches the program break and would not notice a change. */
static int early_brk(void *end)
{
	(void)end;
	return (int)result_of(-ENOMEM);
}

static void *early_sbrk(intptr_t increment)
{
	(void)increment;
	return (void *)result_of(-ENOMEM);
}

static int early_prctl(int option, ...)
{
	long a[4];
	va_list more;

	va_start(more, option);
	for (size_t i = 0; i < 4; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	return (int)result_of(allo_program_syscall(SYS_prctl, option, a[0], a[1], a[2], a[3], 0));
}

void *allo_real_malloc_entry;
struct allo_real allo_real = {
	.malloc = early_malloc,
	.calloc = early_calloc,
	.realloc = early_realloc,
	.free = early_free,
	.mmap = early_mmap,
	.munmap = early_munmap,
	.mremap = early_mremap,
	.brk = early_brk,
	.sbrk = early_sbrk,
	.prctl = early_prctl,
};

bool allo_are_in_one_module(void *one, void *other)
{
	struct allo_code_module of_one, of_other;

	return allo_module_find((uint64_t)one, &of_one) &&
	       allo_module_find((uint64_t)other, &of_other) && of_one.start == of_other.start;
}

/* The only way in C to turn a result of dlsym into a function pointer. */
#define FIND(found, name) (*(void **)&(found).name = dlsym(RTLD_NEXT, #name))

void allo_real_find(void)
{
	struct allo_real found = { 0 };

	FIND(found, malloc);
	FIND(found, free);
	FIND(found, calloc);
	FIND(found, realloc);
	FIND(found, memalign);
	FIND(found, aligned_alloc);
	FIND(found, posix_memalign);
	FIND(found, valloc);
	FIND(found, pvalloc);
	FIND(found, dlclose);
	FIND(found, mmap);
	FIND(found, munmap);
	FIND(found, mremap);
	FIND(found, brk);
	FIND(found, sbrk);
	FIND(found, _exit);
	FIND(found, _Exit);
	FIND(found, execve);
	FIND(found, execvpe);
	FIND(found, fexecve);
	FIND(found, execveat);
	FIND(found, posix_spawn);
	FIND(found, posix_spawnp);
	FIND(found, sigaction);
	FIND(found, signal);
	FIND(found, __sysv_signal);
	FIND(found, prctl);
	FIND(found, chroot);
	FIND(found, setuid);
	FIND(found, setgid);
	FIND(found, seteuid);
	FIND(found, setegid);
	FIND(found, setreuid);
	FIND(found, setregid);
	FIND(found, setresuid);
	FIND(found, setresgid);
	FIND(found, setgroups);
	FIND(found, initgroups);
	FIND(found, capset);
	FIND(found, unshare);
	FIND(found, setns);
	FIND(found, syscall);
	allo_real = found;
	allo_real_malloc_entry = (void *)found.malloc;
#ifdef __GLIBC__
	/* The allocator of glibc does not call itself through the exported names; that of musl
	 * does. */
	allo_allocator_is_apart = allo_are_in_one_module((void *)found.malloc, (void *)strlen);
#endif
}
