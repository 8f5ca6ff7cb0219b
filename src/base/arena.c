/* arena.c - a list of blocks, newest first. */
#include "base/arena.h"

#include "base/assert.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct allo_arena_block {
	struct allo_arena_block *older;
	size_t used, size; /* of `bytes` */
	_Alignas(max_align_t) unsigned char bytes[];
};

/* Block sizes double from the first to the second value: a small profile costs one page, a large
 * one wastes less than a block. */
enum { BLOCK_FIRST = 4096, BLOCK_MOST = 1 << 20 };

static void *take(struct allo_arena_block *block, size_t size, size_t align)
{
	size_t start;

	if (!block)
		return NULL;
	ALLO_ASSERT(align > 0 && (align & (align - 1)) == 0 && align <= _Alignof(max_align_t));
	ALLO_ASSERT(block->used <= block->size);
	start = (block->used + align - 1) & ~(align - 1);
	if (start > block->size || block->size - start < size)
		return NULL;
	block->used = start + size;
	return block->bytes + start;
}

static struct allo_arena_block *add_block(struct allo_arena *arena, size_t at_least)
{
	size_t size = arena->newest ? arena->newest->size * 2 : BLOCK_FIRST;
	struct allo_arena_block *block;

	if (size > BLOCK_MOST)
		size = BLOCK_MOST;
	if (size < at_least)
		size = at_least;
	if (size > SIZE_MAX - sizeof(*block))
		return NULL;
	block = malloc(sizeof(*block) + size);
	if (!block)
		return NULL;
	block->older = arena->newest;
	block->used = 0;
	block->size = size;
	arena->newest = block;
	return block;
}

void *allo_arena_alloc(struct allo_arena *arena, size_t count, size_t size, size_t align)
{
	void *memory;
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	memory = take(arena->newest, bytes, align);
	if (!memory)
		memory = take(add_block(arena, bytes), bytes, align);
	if (memory)
		memset(memory, 0, bytes);
	return memory;
}

char *allo_arena_copy(struct allo_arena *arena, const void *data, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		return NULL;
	copy = take(arena->newest, len + 1, 1);
	if (!copy)
		copy = take(add_block(arena, len + 1), len + 1, 1);
	if (!copy)
		return NULL;
	if (len > 0)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return copy;
}

void allo_arena_done(struct allo_arena *arena)
{
	struct allo_arena_block *block = arena->newest;

	while (block) {
		struct allo_arena_block *older = block->older;

		free(block);
		block = older;
	}
	arena->newest = NULL;
}
