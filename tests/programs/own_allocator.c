/*
 * own_allocator.c - calls an allocator by its own function, MALLOC, as programs with mimalloc do.
 *
 * MESSAGE is a text of that allocator.  With IMPORTED, another file defines the function.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

void *MALLOC(size_t size);

#ifndef IMPORTED
__attribute__((noinline)) void *MALLOC(size_t size)
{
	static char *room;
	static size_t left;
	void *block;

	size = (size + 15) & ~(size_t)15;
	if (left < size) {
		left = 16 << 20;
		room = mmap(NULL, left, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (room == MAP_FAILED) {
			fprintf(stderr, "%s out of memory\n", MESSAGE);
			return NULL;
		}
	}
	block = room;
	room += size;
	left -= size;
	return block;
}
#endif

int main(void)
{
	for (int i = 0; i < 100000; i++) {
		char *block = MALLOC(100);

		if (!block)
			return 1;
		memset(block, i, 100);
	}
	return 0;
}
