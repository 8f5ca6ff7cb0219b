/*
 * arena.h - memory that is given back all at once.
 *
 * A profile owns one arena: its strings live there and die with it.  A scratch arena serves one
 * operation and is dropped whole.
 */
#ifndef ALLO_BASE_ARENA_H
#define ALLO_BASE_ARENA_H

#include <stddef.h>

/* All zeros is an empty arena, ready for use. */
struct allo_arena {
	struct allo_arena_block *newest;
};

/* Zeroed memory for `count` items, or NULL when there is no more (or count * size overflows). */
void *allo_arena_alloc(struct allo_arena *arena, size_t count, size_t size, size_t align);

#define ALLO_ARENA_NEW(arena, count, type)                                                         \
	((type *)allo_arena_alloc((arena), (count), sizeof(type), _Alignof(type)))

/* A copy of `len` bytes with a NUL behind them, or NULL. */
char *allo_arena_copy(struct allo_arena *arena, const void *data, size_t len);

/* Gives everything back; the arena is empty again. */
void allo_arena_done(struct allo_arena *arena);

#endif
