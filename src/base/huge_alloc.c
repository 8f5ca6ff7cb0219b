/* huge_alloc.c - aligned memory with MADV_HUGEPAGE. */
#include "base/huge_alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	CACHE_LINE = 64,
	HUGE_PAGE = 2 << 20, /* bytes; x86-64's, and the smallest of aarch64's */
};

void *allo_huge_alloc(size_t size)
{
	size_t align = size < HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;
	void *memory = NULL;

	if (size <= SIZE_MAX - align)
		memory = aligned_alloc(align, (size + align - 1) / align * align);
	if (memory && align == HUGE_PAGE)
		madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}
