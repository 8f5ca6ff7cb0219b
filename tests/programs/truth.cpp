// truth.cpp - counts its own allocations and prints the counts as JSON: truth EVENTS [mmap]
//
// main() works alone first, and reaches the peak of the program.  Then 8 threads work at once, swap
// their blocks and free half of them.  Every function that allocates is used, each through a
// function of this program that is named after it.  All threads sleep now and then, and read the
// clock before and after the allocation that follows.
#include "blocks.h"

#include <atomic>
#include <cstdint>
#include <cwchar>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

enum { THREADS = 8, SLOTS = 256, TEXT = 100000, ALIGNMENT = 64, PAGE = 4096, STAMPS = 16, NAP_US = 2000 };
static const size_t SUMMIT = (size_t)1 << 28;
static const std::align_val_t aligned{ ALIGNMENT };

static char text[TEXT + 1];
static wchar_t wide[TEXT + 1];

// The functions of the runtime and of C23 are there if the program is recorded.
extern "C" {
__attribute__((weak)) uint32_t allo_heap(const char *name);
__attribute__((weak)) void allo_on_alloc(uint32_t heap, const void *block, size_t size);
__attribute__((weak)) void allo_on_free(uint32_t heap, const void *block);
__attribute__((weak)) void allo_on_realloc_begin(uint32_t heap, const void *block);
__attribute__((weak)) void allo_on_realloc_end(uint32_t heap, const void *moved, size_t size);
__attribute__((weak)) void free_sized(void *block, size_t size);
__attribute__((weak)) void free_aligned_sized(void *block, size_t alignment, size_t size);
}

static uint32_t heap;
static bool maps;

// How a block is freed.
enum family { C, C_ALIGNED, NEW, ARRAY, NEW_ALIGNED, ARRAY_ALIGNED, CUSTOM, MAPPED };

// Functions that allocate.  They return the block; `size` becomes the size that they asked for.

APART static void *by_malloc(size_t &size)
{
	return held(malloc(size));
}

APART static void *by_calloc(size_t &size)
{
	size = size / 3 * 3;
	return held(calloc(3, size / 3));
}

APART static void *by_first_realloc(size_t &size)
{
	return held(realloc(nullptr, size));
}

APART static void *by_first_reallocarray(size_t &size)
{
	size = size / 7 * 7;
	return held(reallocarray(nullptr, size / 7, 7));
}

APART static void *by_aligned_alloc(size_t &size)
{
	return held(aligned_alloc(ALIGNMENT, size));
}

APART static void *by_posix_memalign(size_t &size)
{
	void *block = nullptr;

	must(posix_memalign(&block, ALIGNMENT, size) == 0, "posix_memalign() succeeds");
	return held(block);
}

APART static void *by_memalign(size_t &size)
{
	return held(memalign(ALIGNMENT, size));
}

APART static void *by_valloc(size_t &size)
{
	return held(valloc(size));
}

APART static void *by_pvalloc(size_t &size)
{
	return held(pvalloc(size));
}

APART static void *by_strdup(size_t &size)
{
	const char *from = text + TEXT - size % TEXT;

	size = size % TEXT + 1;
	return held(strdup(from));
}

APART static void *by_strndup(size_t &size)
{
	size = size % TEXT + 1;
	return held(strndup(text, size - 1));
}

APART static void *by_wcsdup(size_t &size)
{
	const wchar_t *from = wide + TEXT - size % TEXT;

	size = (size % TEXT + 1) * sizeof(wchar_t);
	return held(wcsdup(from));
}

APART static void *by_new(size_t &size)
{
	return held(operator new(size));
}

APART static void *by_new_array(size_t &size)
{
	return held(operator new[](size));
}

APART static void *by_new_nothrow(size_t &size)
{
	return held(operator new(size, std::nothrow));
}

APART static void *by_new_array_nothrow(size_t &size)
{
	return held(operator new[](size, std::nothrow));
}

APART static void *by_new_aligned(size_t &size)
{
	return held(operator new(size, aligned));
}

APART static void *by_new_array_aligned(size_t &size)
{
	return held(operator new[](size, aligned));
}

APART static void *by_new_aligned_nothrow(size_t &size)
{
	return held(operator new(size, aligned, std::nothrow));
}

APART static void *by_new_array_aligned_nothrow(size_t &size)
{
	return held(operator new[](size, aligned, std::nothrow));
}

// An allocator of this program, which takes memory from the kernel: 128 KiB per block, never
// touched.
APART static void *by_custom_heap(size_t &size)
{
	static std::atomic<uintptr_t> next{ (uintptr_t)1 << 46 };
	void *block = (void *)(next += 1 << 17);

	allo_on_alloc(heap, block, size);
	stay();
	return block;
}

APART static void *by_mmap(size_t &size)
{
	size = (size / PAGE + 1) * PAGE;
	return held(mmap(nullptr, size - 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

APART static void *by_mmap64(size_t &size)
{
	size = (size / PAGE + 1) * PAGE;
	return held(mmap64(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

APART static void *by_stamp(size_t size)
{
	return held(malloc(size));
}

APART static void *by_mremap(void *block, size_t old_size, size_t size)
{
	return held(mremap(block, old_size, size, MREMAP_MAYMOVE));
}

APART static void by_sbrk(size_t size)
{
	must(sbrk((intptr_t)size) != (void *)-1, "sbrk() succeeds");
	stay();
}

APART static void by_brk(size_t size)
{
	must(brk((char *)sbrk(0) + size) == 0, "brk() succeeds");
	stay();
}

APART static void *by_realloc(void *block, size_t size)
{
	return held(realloc(block, size));
}

APART static void *by_reallocarray(void *block, size_t size)
{
	return held(reallocarray(block, size, 1));
}

APART static void *by_custom_realloc(void *block, size_t size)
{
	allo_on_realloc_begin(heap, block);
	allo_on_realloc_end(heap, block, size);
	stay();
	return block;
}

static const struct entry {
	const char *name;
	void *(*make)(size_t &size);
	family how;
} entries[] = {
	{ "by_malloc", by_malloc, C },
	{ "by_calloc", by_calloc, C },
	{ "by_first_realloc", by_first_realloc, C },
	{ "by_first_reallocarray", by_first_reallocarray, C },
	{ "by_aligned_alloc", by_aligned_alloc, C_ALIGNED },
	{ "by_posix_memalign", by_posix_memalign, C_ALIGNED },
	{ "by_memalign", by_memalign, C_ALIGNED },
	{ "by_valloc", by_valloc, C },
	{ "by_pvalloc", by_pvalloc, C },
	{ "by_strdup", by_strdup, C },
	{ "by_strndup", by_strndup, C },
	{ "by_wcsdup", by_wcsdup, C },
	{ "by_new", by_new, NEW },
	{ "by_new_array", by_new_array, ARRAY },
	{ "by_new_nothrow", by_new_nothrow, NEW },
	{ "by_new_array_nothrow", by_new_array_nothrow, ARRAY },
	{ "by_new_aligned", by_new_aligned, NEW_ALIGNED },
	{ "by_new_array_aligned", by_new_array_aligned, ARRAY_ALIGNED },
	{ "by_new_aligned_nothrow", by_new_aligned_nothrow, NEW_ALIGNED },
	{ "by_new_array_aligned_nothrow", by_new_array_aligned_nothrow, ARRAY_ALIGNED },
	{ "by_custom_heap", by_custom_heap, CUSTOM },
	{ "by_mmap", by_mmap, MAPPED },
	{ "by_mmap64", by_mmap64, MAPPED },
	{ "by_realloc", nullptr, C },
	{ "by_reallocarray", nullptr, C },
	{ "by_custom_realloc", nullptr, CUSTOM },
	{ "by_mremap", nullptr, MAPPED },
	{ "by_sbrk", nullptr, MAPPED },
	{ "by_brk", nullptr, MAPPED },
	{ "by_stamp", nullptr, C },
};
enum {
	BY_CUSTOM = 20,
	BY_MMAP,
	BY_MMAP64,
	MAKERS,
	BY_REALLOC = MAKERS,
	BY_REALLOCARRAY,
	BY_CUSTOM_REALLOC,
	BY_MREMAP,
	BY_SBRK,
	BY_BRK,
	BY_STAMP,
	ENTRIES
};

struct block {
	void *at;
	size_t size;
	family how;
};

// All forms of a family in turns.
static void release(const block &b, unsigned form)
{
	switch (b.how) {
	case C:
		form % 2 && free_sized ? free_sized(b.at, b.size) : free(b.at);
		break;
	case C_ALIGNED:
		form % 2 && free_aligned_sized ? free_aligned_sized(b.at, ALIGNMENT, b.size)
					       : free(b.at);
		break;
	case NEW:
		form % 3 == 0   ? operator delete(b.at)
		: form % 3 == 1 ? operator delete(b.at, b.size)
				:
				operator delete(b.at, std::nothrow);
		break;
	case ARRAY:
		form % 3 == 0   ? operator delete[](b.at)
		: form % 3 == 1 ? operator delete[](b.at, b.size)
				:
				operator delete[](b.at, std::nothrow);
		break;
	case NEW_ALIGNED:
		form % 3 == 0   ? operator delete(b.at, aligned)
		: form % 3 == 1 ? operator delete(b.at, b.size, aligned)
				:
				operator delete(b.at, aligned, std::nothrow);
		break;
	case ARRAY_ALIGNED:
		form % 3 == 0   ? operator delete[](b.at, aligned)
		: form % 3 == 1 ? operator delete[](b.at, b.size, aligned)
				:
				operator delete[](b.at, aligned, std::nothrow);
		break;
	case CUSTOM:
		allo_on_free(heap, b.at);
		break;
	case MAPPED:
		munmap(b.at, b.size);
	}
}

struct counts {
	uint64_t blocks, bytes;
};

// The clock before and after an allocation whose size nothing else of by_stamp() has.
struct stamp {
	size_t size;
	uint64_t before, after;
};

struct worker {
	counts made[ENTRIES];
	uint64_t frees, resizes, events, random;
	int64_t live_blocks, live_bytes;
	block slots[SLOTS];
	stamp stamps[STAMPS];
	unsigned stamp_count;
};

static worker workers[THREADS + 1];

static unsigned draw(worker &w)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return (unsigned)(w.random >> 16);
}

static size_t draw_size(worker &w)
{
	unsigned number = draw(w);

	return number % 16 == 0 ? 0 : number % 64 == 1 ? number / 64 % TEXT : number / 64 % 300;
}

static void hold(worker &w, unsigned entry, size_t size)
{
	w.made[entry].blocks++;
	w.made[entry].bytes += size;
	w.live_blocks++;
	w.live_bytes += (int64_t)size;
	w.events++;
}

static void drop(worker &w, const block &b)
{
	w.live_blocks--;
	w.live_bytes -= (int64_t)b.size;
}

static void allocate(worker &w, block &b)
{
	unsigned entry = draw(w) % MAKERS;

	if ((entry >= BY_MMAP && !maps) || (entry == BY_CUSTOM && !allo_on_alloc))
		entry = 0;
	b.size = draw_size(w);
	b.at = entries[entry].make(b.size);
	b.how = entries[entry].how;
	must(b.at != nullptr && b.at != MAP_FAILED, "there is memory");
	hold(w, entry, b.size);
}

static void discard(worker &w, block &b)
{
	release(b, draw(w));
	drop(w, b);
	w.frees++;
	w.events++;
	b.at = nullptr;
}

static void resize(worker &w, block &b)
{
	unsigned entry = b.how == CUSTOM   ? BY_CUSTOM_REALLOC
			 : b.how == MAPPED ? BY_MREMAP
			 : draw(w) % 2     ? BY_REALLOC
					   : BY_REALLOCARRAY;
	size_t size = draw_size(w) + 1;

	if (b.how == MAPPED)
		size = (size / PAGE + 1) * PAGE;
	if (b.how == C && draw(w) % 8 == 0)
		must(by_realloc(b.at, SIZE_MAX / 2) == nullptr, "realloc() of too much fails");
	b.at = entry == BY_CUSTOM_REALLOC ? by_custom_realloc(b.at, size)
	       : entry == BY_MREMAP       ? by_mremap(b.at, b.size, size)
	       : entry == BY_REALLOC      ? by_realloc(b.at, size)
					  : by_reallocarray(b.at, size);
	must(b.at != nullptr && b.at != MAP_FAILED, "there is memory to resize");
	drop(w, b);
	hold(w, entry, size);
	w.resizes++;
	b.size = size;
}

// A size of 0 frees the block.
static void resize_to_nothing(worker &w, block &b)
{
	must(by_realloc(b.at, 0) == nullptr, "realloc() to nothing frees");
	drop(w, b);
	w.frees++;
	w.events++;
	b.at = nullptr;
}

static uint64_t now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void stamp_once(worker &w)
{
	stamp &s = w.stamps[w.stamp_count];
	block b;

	s.size = TEXT + (size_t)(&w - workers) * STAMPS + w.stamp_count++;
	usleep(NAP_US);
	s.before = now();
	b = { by_stamp(s.size), s.size, C };
	s.after = now();
	hold(w, BY_STAMP, s.size);
	discard(w, b);
}

// The end of the heap moves up twice and down twice.  Nothing else may move it meanwhile, so this
// is for a thread that is alone, and does not allocate.
static void move_break(worker &w)
{
	size_t size = (draw(w) % 8 + 1) * PAGE;
	char *start = (char *)sbrk(0);

	by_sbrk(size);
	hold(w, BY_SBRK, size);
	by_brk(2 * size);
	hold(w, BY_BRK, 2 * size);
	must(brk(start + size) == 0, "brk() succeeds");
	drop(w, { start, 2 * size, MAPPED });
	must(sbrk(-(intptr_t)size) != (void *)-1, "sbrk() succeeds");
	drop(w, { start, size, MAPPED });
	w.frees += 2;
	w.events += 2;
}

static void work(worker &w, uint64_t events)
{
	while (w.events < events) {
		if (w.stamp_count < STAMPS && w.events >= events / STAMPS * w.stamp_count)
			stamp_once(w);
		if (maps && &w == workers && draw(w) % 64 == 0)
			move_break(w);
		block &b = w.slots[draw(w) % SLOTS];
		unsigned choice = draw(w) % 8;

		if (!b.at)
			allocate(w, b);
		else if (choice == 0 && b.how == C)
			resize_to_nothing(w, b);
		else if (choice < 4 && (b.how == C || b.how == CUSTOM || b.how == MAPPED))
			resize(w, b);
		else
			discard(w, b);
	}
}

// The program holds more now than at any other time.
static counts climb(worker &w)
{
	size_t size = SUMMIT + (size_t)w.live_bytes;
	block summit = { by_malloc(size), size, C };
	counts peak;

	must(summit.at != nullptr, "there is memory for the peak");
	hold(w, 0, size);
	peak = { (uint64_t)w.live_blocks, (uint64_t)w.live_bytes };
	discard(w, summit);
	return peak;
}

static void discard_half(worker &w, worker &of)
{
	for (unsigned i = 0; i < SLOTS; i += 2) {
		if (of.slots[i].at)
			discard(w, of.slots[i]);
	}
}

static void work_together(uint64_t events)
{
	std::vector<std::thread> threads;
	pthread_barrier_t all;

	pthread_barrier_init(&all, nullptr, THREADS);
	for (unsigned i = 1; i <= THREADS; i++) {
		threads.emplace_back([i, events, &all] {
			work(workers[i], events);
			pthread_barrier_wait(&all);
			discard_half(workers[i], workers[i % THREADS + 1]);
		});
	}
	for (std::thread &thread : threads)
		thread.join();
}

static void print(const counts &peak)
{
	worker sum = {};

	for (const worker &w : workers) {
		for (unsigned i = 0; i < ENTRIES; i++) {
			sum.made[i].blocks += w.made[i].blocks;
			sum.made[i].bytes += w.made[i].bytes;
		}
		sum.frees += w.frees;
		sum.resizes += w.resizes;
		sum.events += w.events;
		sum.live_blocks += w.live_blocks;
		sum.live_bytes += w.live_bytes;
	}
	printf("{\"made\": {");
	for (unsigned i = 0; i < ENTRIES; i++)
		printf("%s\"%s\": [%lu, %lu]", i ? ", " : "", entries[i].name, sum.made[i].blocks,
		       sum.made[i].bytes);
	printf("}, \"stamps\": [");
	for (const worker &w : workers) {
		for (unsigned i = 0; i < w.stamp_count; i++)
			printf("%s[%lu, %lu, %lu]", i || &w != workers ? ", " : "", w.stamps[i].size,
			       w.stamps[i].before, w.stamps[i].after);
	}
	printf("], \"frees\": %lu, \"resizes\": %lu, \"events\": %lu, \"live\": [%ld, %ld], \"peak\": [%lu, %lu]}\n",
	       sum.frees, sum.resizes, sum.events, sum.live_blocks, sum.live_bytes, peak.blocks,
	       peak.bytes);
}

int main(int count, char **words)
{
	uint64_t events = count > 1 ? strtoull(words[1], nullptr, 10) : 1000;
	uint64_t each = (events + THREADS) / (THREADS + 1); // all together at least `events`
	counts peak;

	maps = count > 2 && strcmp(words[2], "mmap") == 0;
	memset(text, 'x', TEXT);
	wmemset(wide, L'x', TEXT);
	if (allo_heap)
		heap = allo_heap("blocks of truth");
	for (unsigned i = 0; i <= THREADS; i++)
		workers[i].random = 0x9e3779b97f4a7c15 * (i + 1);
	work(workers[0], each);
	peak = climb(workers[0]);
	work_together(each);
	discard_half(workers[0], workers[0]);
	if (maps) {
		by_sbrk(3 * PAGE);
		hold(workers[0], BY_SBRK, 3 * PAGE);
	}
	print(peak);
}
