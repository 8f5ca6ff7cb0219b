/*
 * fail_nth.c - a library to preload: the allocation of the number in ALLO_FAIL_NTH fails, and with
 * a '+' behind the number all after it, too.  How many there were goes to the file that
 * ALLO_FAIL_COUNT names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);

static atomic_long made;
static long bad;
static bool and_all_after;

__attribute__((constructor)) static void start(void)
{
	const char *asked = getenv("ALLO_FAIL_NTH");

	bad = asked ? atol(asked) : 0;
	and_all_after = asked && strchr(asked, '+');
	atomic_store(&made, 0);
}

__attribute__((destructor)) static void finish(void)
{
	const char *path = getenv("ALLO_FAIL_COUNT");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;

	if (fd >= 0)
		dprintf(fd, "%ld\n", atomic_load(&made));
}

static bool must_fail(void)
{
	long number = atomic_fetch_add(&made, 1) + 1;

	if (bad == 0 || number < bad || (number > bad && !and_all_after))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return must_fail() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return must_fail() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
	return must_fail() ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return must_fail() ? NULL : __libc_memalign(align, size);
}
