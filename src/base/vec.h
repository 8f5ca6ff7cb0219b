/*
 * vec.h - growable arrays.
 *
 *     ALLO_VEC(struct point) points = { 0 };
 *
 *     for (...)
 *             allo_vec_add(&points, point, err);
 *     if (allo_failed(err))
 *             return false;
 *
 * An all-zero vec is empty and owns nothing.
 *
 * The functions that take an error latch: a call that runs out of memory records it in `err`,
 * leaves the vec as it was and returns false.  So a loop can add without looking, and check once
 * behind it. The functions without an error are for code that can do without the memory.
 */
#ifndef ALLO_BASE_VEC_H
#define ALLO_BASE_VEC_H

#include "base/error.h"

#include <stddef.h>

#define ALLO_VEC(type)                                                                             \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t len, cap;                                                                   \
	}

/* Appends one item.  Write a compound literal in parentheses. */
#define allo_vec_add(vec, item, err)                                                               \
	allo_or_fail_memory(                                                                       \
		allo_vec_reserve((vec), 1) && ((vec)->at[(vec)->len++] = (item), true), (err))

/* Appends `count` items. */
#define allo_vec_add_all(vec, items, count, err)                                                   \
	allo_or_fail_memory(allo_vec_append((vec), (items), (count)), (err))

/* Extends the vec with zeros to at least `length` items. */
#define allo_vec_extend(vec, length, err)                                                          \
	allo_or_fail_memory(allo_vec_cover((vec), (length)), (err))

/* Makes room for `more` further items.  False when out of memory; the vec is unchanged then. */
#define allo_vec_reserve(vec, more)                                                                \
	((vec)->cap - (vec)->len >= (size_t)(more) ||                                              \
	 allo_vec_grow(&(vec)->at, &(vec)->cap, (vec)->len, (more), sizeof(*(vec)->at)))

/* A new last item, uninitialised, or NULL when out of memory. */
#define allo_vec_push(vec) (allo_vec_reserve((vec), 1) ? &(vec)->at[(vec)->len++] : NULL)

/* Appends `count` items; false when out of memory. */
#define allo_vec_append(vec, items, count)                                                         \
	allo_vec_append_bytes(&(vec)->at, &(vec)->len, &(vec)->cap, (items), (count),              \
			      sizeof(*(vec)->at))

#define allo_vec_done(vec)                                                                         \
	do {                                                                                       \
		allo_vec_free(&(vec)->at);                                                         \
		(vec)->len = (vec)->cap = 0;                                                       \
	} while (0)

/* Extends the vec with zeros to at least `length` items; false when out of memory. */
#define allo_vec_cover(vec, length)                                                                \
	allo_vec_cover_bytes(&(vec)->at, &(vec)->len, &(vec)->cap, (length), sizeof(*(vec)->at))

bool allo_vec_grow(void *at, size_t *cap, size_t len, size_t more, size_t item);
bool allo_vec_append_bytes(void *at, size_t *len, size_t *cap, const void *items, size_t count,
			   size_t item);
bool allo_vec_cover_bytes(void *at, size_t *len, size_t *cap, size_t length, size_t item);
void allo_vec_free(void *at);

#endif
