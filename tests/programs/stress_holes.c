/*
 * stress_holes.c - a program without threads puts something where it has just unmapped something
 * else, for as long as it takes until a process has all that it gets from the runtime.
 */
#include "blocks.h"

#include <sys/mman.h>
#include <time.h>

enum { SIZE = 1 << 20, MS = 25 };

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *block = held(malloc(1009)), *hole = mmap(NULL, SIZE, PROT_NONE, flags, -1, 0);

	must(hole != MAP_FAILED, "mmap() succeeds");
	for (long start = now_ms(); now_ms() - start < MS;) {
		must(munmap(hole, SIZE) == 0, "munmap() succeeds");
		must(mmap(hole, SIZE, PROT_NONE, flags | MAP_FIXED, -1, 0) == hole,
		     "mmap() succeeds again");
	}
	free(block);
	return 0;
}
