/*
 * arena.h - a region of memory that is freed as a whole.
 *
 * A profile owns one arena for the bytes of its strings.  A scratch arena serves one operation.
 */
#ifndef ALLO_BASE_ARENA_H
#define ALLO_BASE_ARENA_H

#include <stddef.h>

/* All zeros is an empty arena, ready for use. */
struct allo_arena {
	struct allo_arena_block *newest;
};

/* Zeroed memory for `count` items, or NULL when out of memory (or count * size overflows). */
void *allo_arena_alloc(struct allo_arena *arena, size_t count, size_t size, size_t align);

#define ALLO_ARENA_NEW(arena, count, type)                                                         \
	((type *)allo_arena_alloc((arena), (count), sizeof(type), _Alignof(type)))

/* A copy of `len` bytes with a NUL appended, or NULL when out of memory. */
char *allo_arena_copy(struct allo_arena *arena, const void *data, size_t len);

/* Frees everything; the arena is empty again. */
void allo_arena_done(struct allo_arena *arena);

#endif
