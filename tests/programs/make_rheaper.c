/*
 * make_rheaper.c - writes a recording of rheaper's, of a program that never was.
 *
 *     make_rheaper FOLDER EVENTS [THREADS [STACKS]]
 *
 * The same arguments make the same bytes.  Prints their sums as JSON.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { THREADS_MAX = 64, DEPTH_MAX = 30, LIVE_MOST = 1 << 16 };

struct event {
	unsigned char tag;
	uint64_t ns, number, address, thread, backtrace, size;
} __attribute__((packed));
_Static_assert(sizeof(struct event) == 49, "as it lies in a file");

struct block {
	uint64_t address, size;
};

struct heap {
	struct block live[LIVE_MOST];
	uint64_t free[LIVE_MOST]; /* addresses to be used again */
	size_t live_count, free_count;
	uint64_t end_of_heap;
	uint64_t alloc_blocks, alloc_bytes, live_bytes, peak_bytes;
};

static uint64_t state = 88172645463325252;

static uint64_t chance(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

/* Numbers that have nothing to do with each other, none of them 0. */
static uint64_t scattered(uint64_t number)
{
	number = (number + 1) * 0x9e3779b97f4a7c15;
	return (number ^ number >> 29) * 0xbf58476d1ce4e5b9;
}

static FILE *open_file(const char *folder, const char *format, unsigned number)
{
	char name[64], path[4096];
	FILE *file;

	snprintf(name, sizeof(name), format, number);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

/* Most blocks are small, and a few are not. */
static uint64_t some_size(void)
{
	uint64_t size = 8 + chance(120);

	return chance(40) == 0 ? size << chance(10) : size;
}

static struct event allocate(struct heap *heap, uint64_t stacks)
{
	struct event event = { .tag = 0, .size = some_size() };
	uint64_t x = chance(1000), y = chance(1000);

	if (heap->free_count > 0 && chance(5) > 0) {
		event.address = heap->free[--heap->free_count];
	} else {
		heap->end_of_heap += 16 + event.size / 16 * 16;
		event.address = heap->end_of_heap;
	}
	event.backtrace = scattered(stacks * x * y / 1000000); /* a few have most */
	heap->live[heap->live_count++] = (struct block){ event.address, event.size };
	heap->alloc_blocks++;
	heap->alloc_bytes += event.size;
	heap->live_bytes += event.size;
	if (heap->live_bytes > heap->peak_bytes)
		heap->peak_bytes = heap->live_bytes;
	return event;
}

/* Young blocks die first, mostly. */
static struct event release(struct heap *heap)
{
	size_t count = heap->live_count;
	size_t which = chance(10) == 0 ? chance(count)
				       : count - 1 - chance(count < 64 ? count : 64);
	struct block block = heap->live[which];

	heap->live[which] = heap->live[--heap->live_count];
	heap->live_bytes -= block.size;
	if (heap->free_count < LIVE_MOST)
		heap->free[heap->free_count++] = block.address;
	return (struct event){ .tag = 1, .address = block.address };
}

static void write_events(struct heap *heap, const char *folder, uint64_t count, unsigned threads,
			 uint64_t stacks)
{
	FILE *files[THREADS_MAX];
	uint64_t ns = 0;

	for (unsigned i = 0; i < threads; i++)
		files[i] = open_file(folder, "events/events-ThreadId(%u)", i + 1);
	for (uint64_t number = 0; number < count; number++) {
		unsigned below = heap->live_count < LIVE_MOST / 3 ? 6 : 5; /* of ten allocate */
		bool has_room = heap->live_count < LIVE_MOST;
		bool allocates = heap->live_count == 0 || (has_room && chance(10) < below);
		struct event event = allocates ? allocate(heap, stacks) : release(heap);

		event.number = number;
		event.ns = ns += 20 + chance(400);
		fwrite(&event, sizeof(event), 1, files[chance(threads)]);
	}
	for (unsigned i = 0; i < threads; i++)
		fclose(files[i]);
}

/* Stacks share callers: outer frames depend on fewer bits of their number. */
static void write_backtrace(FILE *file, uint64_t number)
{
	unsigned depth = 6 + (unsigned)(scattered(number) % (DEPTH_MAX - 6));

	fputs("{\"frames\":[", file);
	for (unsigned i = 0; i < depth; i++) {
		unsigned out = i < 16 ? i : 16;
		uint64_t function = scattered((number >> out) * 64 + i) % 9973;

		if (i == 1 && number % 31 == 0)
			fputs(",null", file);
		else
			fprintf(file,
				"%s{\"file\":\"/home/user/.cargo/registry/src/crate_%" PRIu64
				"/src/part_%" PRIu64 ".rs\",\"lineno\":%" PRIu64
				",\"sym_name\":\"crate_%" PRIu64 "::part_%" PRIu64
				"::Type<T>::function_%" PRIu64 "::h%016" PRIx64 "\"}",
				i ? "," : "", function % 41, function % 401, 1 + function % 1999,
				function % 41, function % 401, function, scattered(function));
	}
	fprintf(file, "],\"id\":%" PRIu64 "}\n", scattered(number));
}

static void write_backtraces(const char *folder, unsigned threads, uint64_t stacks)
{
	for (unsigned i = 0; i < threads; i++) {
		FILE *file = open_file(folder, "backtraces/bt-%u", i);

		for (uint64_t number = i; number < stacks; number += threads)
			write_backtrace(file, number);
		fclose(file);
	}
}

static void make_folder(const char *folder, const char *inner)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, inner);
	mkdir(path, 0777);
}

int main(int argc, char **argv)
{
	static struct heap heap = { .end_of_heap = 0x7f0000000000 };
	uint64_t events = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 4;
	uint64_t stacks = argc > 4 ? strtoull(argv[4], NULL, 10) : 5000;

	if (argc < 3 || threads < 1 || threads > THREADS_MAX || stacks < 1)
		return 2;
	make_folder(argv[1], "");
	make_folder(argv[1], "events");
	make_folder(argv[1], "backtraces");
	write_events(&heap, argv[1], events, threads, stacks);
	write_backtraces(argv[1], threads, stacks);
	printf("{\"alloc_blocks\": %" PRIu64 ", \"alloc_bytes\": %" PRIu64
	       ", \"peak_bytes\": %" PRIu64 ", \"end_blocks\": %zu, \"end_bytes\": %" PRIu64 "}\n",
	       heap.alloc_blocks, heap.alloc_bytes, heap.peak_bytes, heap.live_count,
	       heap.live_bytes);
	return 0;
}
