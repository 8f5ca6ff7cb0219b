/*
 * count_preload.c - counts allocations in the plainest way, as a second opinion.
 *
 * Preloaded; counts calls that succeed and requested bytes into the file that ALLO_TEST_COUNTS
 * names, with the process number behind it, through a shared mapping: nothing needs to happen at
 * the end. Calls within the C library (reallocarray() calls realloc()) count once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file, in this order. */
struct counts {
	_Atomic uint64_t allocations, resizes, frees, bytes;
};

static struct counts early;
static struct counts *counts = &early;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_reallocarray)(void *, size_t, size_t);
static void *(*next_memalign)(size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_valloc)(size_t);
static void *(*next_pvalloc)(size_t);
static void (*next_free)(void *);

/* A call within a call is the library's own. */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

static void find_next(void)
{
	static atomic_bool is_done;

	if (is_done)
		return;
	next_malloc = dlsym(RTLD_NEXT, "malloc");
	next_calloc = dlsym(RTLD_NEXT, "calloc");
	next_realloc = dlsym(RTLD_NEXT, "realloc");
	next_reallocarray = dlsym(RTLD_NEXT, "reallocarray");
	next_memalign = dlsym(RTLD_NEXT, "memalign");
	next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	next_valloc = dlsym(RTLD_NEXT, "valloc");
	next_pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	next_free = dlsym(RTLD_NEXT, "free");
	is_done = 1;
}

__attribute__((constructor)) static void open_file(void)
{
	const char *name = getenv("ALLO_TEST_COUNTS");
	int saved = errno, file;
	struct counts *shared;
	char path[512];

	if (!name)
		return;
	snprintf(path, sizeof(path), "%s.%d", name, (int)getpid());
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, sizeof(*shared)) != 0)
		_exit(98);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared == MAP_FAILED)
		_exit(98);
	close(file);
	shared->allocations += early.allocations;
	shared->resizes += early.resizes;
	shared->frees += early.frees;
	shared->bytes += early.bytes;
	counts = shared;
	errno = saved;
}

static void *counted(void *block, size_t size)
{
	if (--depth == 0 && block) {
		counts->allocations++;
		counts->bytes += size;
	}
	return block;
}

static void *count_resize(void *old, void *block, size_t size)
{
	if (--depth > 0)
		return block;
	if (!old && block) {
		counts->allocations++;
		counts->bytes += size;
	} else if (old && block) {
		counts->resizes++;
		counts->bytes += size;
	} else if (old && size == 0) {
		counts->frees++;
	}
	return block;
}

void *malloc(size_t size)
{
	depth++;
	find_next();
	return counted(next_malloc(size), size);
}

void *calloc(size_t count, size_t size)
{
	depth++;
	find_next();
	return counted(next_calloc(count, size), count * size);
}

void *realloc(void *old, size_t size)
{
	depth++;
	find_next();
	return count_resize(old, next_realloc(old, size), size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
	void *block;

	depth++;
	find_next();
	block = next_reallocarray(old, count, size);
	/* An overflow of the product frees nothing. */
	if (!block && count != 0 && size != 0) {
		depth--;
		return NULL;
	}
	return count_resize(old, block, count * size);
}

void *memalign(size_t alignment, size_t size)
{
	depth++;
	find_next();
	return counted(next_memalign(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	depth++;
	find_next();
	return counted(next_aligned_alloc(alignment, size), size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	int result;

	depth++;
	find_next();
	result = next_posix_memalign(block, alignment, size);
	counted(result == 0 ? *block : NULL, size);
	return result;
}

void *valloc(size_t size)
{
	depth++;
	find_next();
	return counted(next_valloc(size), size);
}

void *pvalloc(size_t size)
{
	depth++;
	find_next();
	return counted(next_pvalloc(size), size);
}

void free(void *block)
{
	find_next();
	if (block && depth == 0)
		counts->frees++;
	depth++;
	next_free(block);
	depth--;
}
