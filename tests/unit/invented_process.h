/*
 * invented_process.h - the memory of a process that does not exist: glibc's variables, the heap of
 * the main arena, and two heaps of a second arena.
 *
 * Tests and fuzzers change single words, as a hostile or damaged process has them.
 */
#ifndef ALLO_TESTS_INVENTED_PROCESS_H
#define ALLO_TESTS_INVENTED_PROCESS_H

#include "ledger/glibc_blocks.h"

#include <stdlib.h>
#include <string.h>

enum {
	INVENTED_PAGE = 4096,
	INVENTED_PART = 16 * INVENTED_PAGE, /* resident bytes of each part */
	INVENTED_LISTS = 127,
	INVENTED_BEFORE = 14, /* words of an arena before its lists: flags, fastbins, top, rest */
	INVENTED_NEXT = INVENTED_BEFORE + 2 * INVENTED_LISTS + 2,
	INVENTED_SYSTEM = INVENTED_NEXT + 3,
	INVENTED_ARENA = 8 * (INVENTED_SYSTEM + 2),
	INVENTED_HEAD = 32, /* of a heap, before the arena or the first block */
};

enum invented_part {
	INVENTED_LIBC,
	INVENTED_BREAK,
	INVENTED_HEAP,
	INVENTED_OLD_HEAP,
	INVENTED_PARTS
};

struct invented_process {
	uint64_t words[INVENTED_PARTS][INVENTED_PART / 8];
	struct allo_vma mappings[INVENTED_PARTS];
	struct allo_vmas vmas;
	struct allo_other_memory memory;
	uint64_t states_read; /* pages */
};

/* The heaps begin at multiples of 64 MiB, and are together one mapping's size apart. */
static const uint64_t invented_starts[INVENTED_PARTS] = {
	[INVENTED_BREAK] = 0x555500000000,
	[INVENTED_OLD_HEAP] = 0x7f0000000000,
	[INVENTED_HEAP] = 0x7f0008000000,
	[INVENTED_LIBC] = 0x7f0012345000,
};

static inline uint64_t *invented_find(struct invented_process *process, uint64_t address)
{
	for (int i = 0; i < INVENTED_PARTS; i++) {
		if (address >= invented_starts[i] && address - invented_starts[i] < INVENTED_PART)
			return &process->words[i][(address - invented_starts[i]) / 8];
	}
	return NULL;
}

static inline bool invented_read(const struct allo_other_memory *memory, uint64_t address,
				 void *out, size_t len)
{
	struct invented_process *process = (struct invented_process *)memory->context;

	for (size_t i = 0; i < len; i++) {
		const uint64_t *word = invented_find(process, address + i);

		if (!word)
			return false;
		((char *)out)[i] = ((const char *)word)[(address + i) % 8];
	}
	return true;
}

static inline bool invented_states(const struct allo_other_memory *memory, uint64_t first,
				   size_t count, uint8_t *states)
{
	struct invented_process *process = (struct invented_process *)memory->context;

	process->states_read += count;
	for (size_t i = 0; i < count; i++)
		states[i] = invented_find(process, (first + i) * INVENTED_PAGE) ? ALLO_PAGE_RESIDENT
										: ALLO_PAGE_NONE;
	return true;
}

/* Puts an arena with empty lists at an address. */
static inline void invented_arena(struct invented_process *process, uint64_t address, uint64_t top,
				  uint64_t next, uint64_t system_bytes)
{
	uint64_t *words = invented_find(process, address);
	uint64_t lists = address + 8 * INVENTED_BEFORE;

	words[INVENTED_BEFORE - 2] = top;
	for (uint64_t i = 0; i < 2 * INVENTED_LISTS; i++)
		words[INVENTED_BEFORE + i] = lists + 16 * (i / 2) - 16;
	words[INVENTED_NEXT] = next;
	words[INVENTED_SYSTEM] = words[INVENTED_SYSTEM + 1] = system_bytes;
}

/* Fills a range with blocks of 64 bytes in use, up to a top block. */
static inline void invented_blocks(struct invented_process *process, uint64_t start, uint64_t top,
				   uint64_t end)
{
	for (uint64_t at = start; at < top; at += 64)
		invented_find(process, at)[1] = 64 | 1;
	invented_find(process, top)[1] = (end - top) | 1;
}

static inline uint64_t invented_main_arena(void)
{
	return invented_starts[INVENTED_LIBC] + INVENTED_PAGE;
}

static inline uint64_t invented_second_arena(void)
{
	return invented_starts[INVENTED_OLD_HEAP] + INVENTED_HEAD;
}

static const struct allo_other_access invented_access = { invented_read, invented_states };

static inline void invented_init(struct invented_process *process)
{
	const uint64_t *starts = invented_starts;
	uint64_t first = starts[INVENTED_OLD_HEAP] +
			 (INVENTED_HEAD + INVENTED_ARENA + 15) / 16 * 16;
	uint64_t top = starts[INVENTED_HEAP] + INVENTED_PART / 2 + INVENTED_HEAD;
	uint64_t *old_head, *head;

	memset(process, 0, sizeof(*process));
	for (int i = 0; i < INVENTED_PARTS; i++) {
		static const int order[] = { INVENTED_BREAK, INVENTED_OLD_HEAP, INVENTED_HEAP,
					     INVENTED_LIBC };

		process->mappings[i] = (struct allo_vma){
			.start = starts[order[i]],
			.end = starts[order[i]] + INVENTED_PART,
			.rss = INVENTED_PART,
			.kind = order[i] == INVENTED_LIBC    ? ALLO_VMA_FILE
				: order[i] == INVENTED_BREAK ? ALLO_VMA_BREAK
							     : ALLO_VMA_ANON,
			.is_readable = true,
			.is_writable = true,
			.name = order[i] == INVENTED_LIBC ? ALLO_TEXT("/lib/libc.so.6")
							  : ALLO_TEXT(""),
		};
	}
	process->vmas.all.at = process->mappings;
	process->vmas.all.len = INVENTED_PARTS;
	process->memory = (struct allo_other_memory){ .page_size = INVENTED_PAGE,
						      .pagemap = -1,
						      .access = &invented_access,
						      .context = process };
	invented_arena(process, invented_main_arena(), starts[INVENTED_BREAK] + INVENTED_PART / 2,
		       invented_second_arena(), INVENTED_PART);
	invented_arena(process, invented_second_arena(), top, invented_main_arena(),
		       2 * INVENTED_PART);
	invented_blocks(process, starts[INVENTED_BREAK], starts[INVENTED_BREAK] + INVENTED_PART / 2,
			starts[INVENTED_BREAK] + INVENTED_PART);
	invented_blocks(process, starts[INVENTED_HEAP] + INVENTED_HEAD, top,
			starts[INVENTED_HEAP] + INVENTED_PART);
	/* A heap that is full ends with two small blocks. */
	invented_blocks(process, first, starts[INVENTED_OLD_HEAP] + INVENTED_PART - 64,
			starts[INVENTED_OLD_HEAP] + INVENTED_PART - 48);
	head = process->words[INVENTED_HEAP];
	old_head = process->words[INVENTED_OLD_HEAP];
	head[0] = old_head[0] = invented_second_arena();
	head[1] = starts[INVENTED_OLD_HEAP];
	head[2] = old_head[2] = INVENTED_PART;
}

/* Everything that `allo mem` asks of the heap.  False when memory is short. */
static inline bool invented_walk(struct invented_process *process, struct allo_glibc *glibc,
				 struct allo_glibc_blocks *blocks, struct allo_error *err)
{
	if (!allo_glibc_find(glibc, &process->vmas, &process->memory, err))
		return false;
	for (int i = 0; i < INVENTED_PARTS; i++)
		allo_glibc_find_blocks(&process->memory, &process->mappings[i],
				       glibc->mapped_bytes);
	return glibc->arenas.len == 0 || allo_glibc_walk(glibc, &process->memory, blocks, err);
}

#endif
