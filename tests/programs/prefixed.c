/*
 * prefixed.c - a small allocator whose functions have a prefix, for libraries.  It never uses a
 * block again.  Its functions call one of another library, as those of real allocators do: the
 * runtime leaves others alone.
 *
 * PREFIX is the start of its names.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define THE(name)   __attribute__((noinline)) JOIN(PREFIX, name)

enum { ROOM = 256 << 20 };

/* In front of each block. */
struct head {
	size_t size;
};

static char room[ROOM];
static size_t used, frees;

static inline void *get(size_t alignment, size_t size)
{
	size_t at = (used + sizeof(struct head) + alignment - 1) & ~(alignment - 1);

	if (size > ROOM - at) {
		errno = ENOMEM;
		return NULL;
	}
	((struct head *)(room + at))[-1].size = size;
	used = at + ((size + 15) & ~(size_t)15);
	return room + at;
}

void *THE(malloc)(size_t size)
{
	return get(16, size);
}

void *THE(calloc)(size_t count, size_t size)
{
	return get(16, count * size);
}

void *THE(memalign)(size_t alignment, size_t size)
{
	return get(alignment, size);
}

void *THE(aligned_alloc)(size_t alignment, size_t size)
{
	return get(alignment, size);
}

void *THE(valloc)(size_t size)
{
	return get(4096, size);
}

int THE(posix_memalign)(void **block, size_t alignment, size_t size)
{
	*block = get(alignment, size);
	return *block ? 0 : ENOMEM;
}

void THE(free)(void *block)
{
	if (frees > ROOM)
		abort();
	frees += block != NULL;
}

void *THE(realloc)(void *block, size_t size)
{
	size_t before = block ? ((struct head *)block)[-1].size : 0;
	char *moved = get(16, size);

	if (moved && block)
		memcpy(moved, block, before < size ? before : size);
	return moved;
}
