/*
 * built_in.c - makes random calls to an allocator that the program contains, and writes each of
 * them down.
 *
 * usage: built_in FILE STEPS
 *
 * PREFIX is the start of the allocator's names.  With JEMALLOC or TCMALLOC, its further functions
 * are called too.  Blocks keep a byte of their own, so a mistake of the allocator is noticed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PREFIX
#define PREFIX
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define THE(name)   JOIN(PREFIX, name)

void *THE(malloc)(size_t size);
void *THE(calloc)(size_t count, size_t size);
void *THE(realloc)(void *block, size_t size);
void *THE(memalign)(size_t alignment, size_t size);
void *THE(aligned_alloc)(size_t alignment, size_t size);
int THE(posix_memalign)(void **block, size_t alignment, size_t size);
void *THE(valloc)(size_t size);
void THE(free)(void *block);
#ifdef JEMALLOC
void *THE(mallocx)(size_t size, int flags);
void *THE(rallocx)(void *block, size_t size, int flags);
size_t THE(xallocx)(void *block, size_t size, size_t extra, int flags);
void THE(dallocx)(void *block, int flags);
void THE(sdallocx)(void *block, size_t size, int flags);
#endif
#ifdef TCMALLOC
void *tc_malloc(size_t size);
void *tc_new(size_t size);
void *tc_newarray(size_t size);
void tc_delete(void *block);
void tc_deletearray_sized(void *block, size_t size);
void tc_free(void *block);
#endif

enum { BLOCKS = 500, MARKER = 54321 };

static struct block {
	unsigned char *at;
	size_t size;
	int is_aligned; /* its size alone does not tell where it lies */
} blocks[BLOCKS];

static struct call {
	const char *kind;
	void *old, *block;
	size_t size;
} * calls;
static size_t call_count;

static void note(const char *kind, void *old, void *block, size_t size)
{
	calls[call_count++] = (struct call){ kind, old, block, size };
}

static unsigned long number(void)
{
	static unsigned long x = 88172645463325252ul;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 8;
}

static void *get(size_t size, unsigned way)
{
	void *block = NULL;

	switch (way) {
	case 0:
		return THE(calloc)(1, size);
	case 1:
		return THE(memalign)(64, size);
	case 2:
		return THE(aligned_alloc)(64, size);
	case 3:
		return THE(posix_memalign)(&block, 32, size) == 0 ? block : NULL;
	case 4:
		return size < 64 ? THE(valloc)(size) : THE(realloc)(NULL, size);
#ifdef JEMALLOC
	case 5:
		return THE(mallocx)(size, 0);
#endif
#ifdef TCMALLOC
	case 5:
		return number() % 2 ? tc_new(size) : tc_newarray(size);
	case 6:
		return tc_malloc(size);
#endif
	default:
		return THE(malloc)(size);
	}
}

static void *resized(void *block, size_t old_size, size_t size)
{
	(void)old_size;
#ifdef JEMALLOC
	if (size <= old_size && number() % 2 && THE(xallocx)(block, size, 0, 0) >= size)
		return block;
	if (number() % 2)
		return THE(rallocx)(block, size, 0);
#endif
	return THE(realloc)(block, size);
}

static void give(void *block, size_t size, int is_aligned)
{
	(void)size;
	switch (is_aligned ? 3 : number() % 4) {
#ifdef JEMALLOC
	case 0:
		THE(dallocx)(block, 0);
		break;
	case 1:
		THE(sdallocx)(block, size, 0);
		break;
#endif
#ifdef TCMALLOC
	case 0:
		tc_delete(block);
		break;
	case 1:
		tc_deletearray_sized(block, size);
		break;
	case 2:
		tc_free(block);
		break;
#endif
	default:
		THE(free)(block);
	}
}

static void check(const struct block *block)
{
	if (block->at[0] != (unsigned char)block->size ||
	    block->at[block->size - 1] != (unsigned char)block->size) {
		fprintf(stderr, "a block has changed\n");
		exit(1);
	}
}

static void step(struct block *block)
{
	size_t size = number() % (number() % 16 ? 300 : 30000) + 1;
	void *old = block->at;

	if (!old) {
		unsigned way = number() % 8;

		block->at = get(size, way);
		block->is_aligned = way <= 4;
		note("alloc", NULL, block->at, size);
	} else if (number() % 3 == 0) {
		check(block);
		block->at = resized(old, block->size, size);
		block->is_aligned = 1;
		note("resize", old, block->at, size);
	} else {
		check(block);
		give(old, block->size, block->is_aligned);
		note("free", NULL, old, 0);
		block->at = NULL;
		return;
	}
	block->size = size;
	block->at[0] = block->at[size - 1] = (unsigned char)size;
}

__attribute__((noinline)) static void make_calls(unsigned long steps)
{
	for (unsigned long i = 0; i < steps; i++)
		step(&blocks[number() % BLOCKS]);
}

int main(int count, char **words)
{
	unsigned long steps = count == 3 ? strtoul(words[2], NULL, 10) : 0;
	FILE *file = count == 3 ? fopen(words[1], "w") : NULL;

	if (!file)
		return 2;
	calls = calloc(steps, sizeof(*calls));
	THE(free)(THE(malloc)(MARKER));
	make_calls(steps);
	THE(free)(THE(malloc)(MARKER));
	for (size_t i = 0; i < call_count; i++)
		fprintf(file, "%s %lx %lx %zu\n", calls[i].kind, (unsigned long)calls[i].old,
			(unsigned long)calls[i].block, calls[i].size);
	return fclose(file);
}
