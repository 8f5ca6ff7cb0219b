/*
 * gauges.c - holds blocks in two arenas, prints glibc's own statistics of them, and waits for the
 * end of standard input: bytes from the kernel, bytes of free blocks, bytes of mapped blocks.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 3000, LARGE = 5 << 20 };

static pthread_barrier_t is_full, is_over;

/* Keeps every third block; the others become free blocks between them. */
static void fill(void)
{
	static _Thread_local void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc((size_t)(1100 + i % 7 * 100));
	for (int i = 0; i < BLOCKS; i++) {
		if (i % 3)
			free(blocks[i]);
	}
}

static void *fill_other_arena(void *unused)
{
	fill();
	pthread_barrier_wait(&is_full);
	pthread_barrier_wait(&is_over);
	return unused;
}

int main(void)
{
	pthread_t thread;
	struct mallinfo2 info;
	char line[128];
	int len;

	pthread_barrier_init(&is_full, NULL, 2);
	pthread_barrier_init(&is_over, NULL, 2);
	pthread_create(&thread, NULL, fill_other_arena, NULL);
	fill();
	if (!malloc(LARGE))
		return 1;
	pthread_barrier_wait(&is_full);
	info = mallinfo2();
	/* Without stdio, which allocates. */
	len = snprintf(line, sizeof(line), "%zu %zu %zu\n", info.arena, info.fordblks, info.hblkhd);
	if (write(1, line, (size_t)len) != len)
		return 1;
	while (read(0, line, sizeof(line)) > 0)
		;
	pthread_barrier_wait(&is_over);
	pthread_join(thread, NULL);
	return 0;
}
