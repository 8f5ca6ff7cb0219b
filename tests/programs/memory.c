/* A process with known memory: it prints the numbers, and then waits for the test.  With an
 * argument it maps nothing; "hidden" also denies other processes of the user to read its memory. */
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { BLOCKS = 60000, LARGE = 3, LARGE_SIZE = 5000000, PLAIN_MAP = 7 << 20, SHARED_MAP = 3 << 20 };

static uint64_t live_bytes, live_blocks, used_bytes, freed_bytes;

/* Unique sizes; rounding adds a different number of bytes to each. */
static size_t size_of(int i)
{
	return 1100 + (size_t)(i * 37 % 900);
}

/* The size of a block with its header, which is 8 bytes in front of it. */
static size_t taken_by(void *block)
{
	return malloc_usable_size(block) + 8;
}

/* Two of three blocks stay, so that the third cannot be given back. */
static void fill_heap(void)
{
	static void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = memset(malloc(size_of(i)), 1, size_of(i));
	for (int i = 0; i < BLOCKS; i++) {
		if (i % 3 == 0) {
			freed_bytes += taken_by(blocks[i]);
			free(blocks[i]);
		} else {
			live_bytes += size_of(i);
			live_blocks++;
			used_bytes += taken_by(blocks[i]);
		}
	}
}

static void map_blocks(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	for (int i = 0; i < LARGE; i++) {
		void *block = memset(malloc(LARGE_SIZE), 1, LARGE_SIZE);

		live_bytes += LARGE_SIZE;
		live_blocks++;
		used_bytes += taken_by(block) + 8;
	}
}

static void map_others(void)
{
	int fd = memfd_create("known", 0);
	void *plain = mmap(NULL, PLAIN_MAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	void *shared;

	ftruncate(fd, SHARED_MAP);
	shared = mmap(NULL, SHARED_MAP, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(plain, 1, PLAIN_MAP);
	memset(shared, 1, SHARED_MAP);
}

/* Seven blocks of each of these sizes stay in the thread's cache. */
static void *fill_cache(void *given)
{
	void *blocks[7];

	for (size_t size = 24; size <= 1032; size += 16) {
		for (int i = 0; i < 7; i++)
			blocks[i] = memset(malloc(size), 1, size);
		for (int i = 0; i < 7; i++)
			free(blocks[i]);
	}
	pthread_barrier_wait(given);
	pause();
	return NULL;
}

static void use_stack(void)
{
	volatile char deep[200 << 10];

	for (size_t i = 0; i < sizeof(deep); i += 4096)
		deep[i] = 1;
}

/* As programs do, in a way that compilers do not leave out. */
static void use_heap(void)
{
	void *volatile block = malloc(100);

	free(block);
}

int main(int argc, char **argv)
{
	pthread_barrier_t barrier;
	bool is_idle = argc > 1 && strcmp(argv[1], "idle") == 0;
	pthread_t thread;

	if (argc > 1 && strcmp(argv[1], "hidden") == 0)
		prctl(PR_SET_DUMPABLE, 0);
	use_stack();
	fill_heap();
	if (argc == 1) {
		map_blocks();
		map_others();
	}
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, fill_cache, &barrier);
	pthread_barrier_wait(&barrier);
	dprintf(1, "%llu %llu %llu %llu\n", (unsigned long long)live_bytes,
		(unsigned long long)live_blocks, (unsigned long long)used_bytes,
		(unsigned long long)freed_bytes);
	/* Until the test closes the pipe. */
	while (poll(&(struct pollfd){ .fd = 0, .events = POLLIN }, 1, is_idle ? -1 : 5) == 0)
		use_heap();
	return 0;
}
