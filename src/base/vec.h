/*
 * vec.h - arrays that grow.
 *
 *     ALLO_VEC(struct point) points = { 0 };
 *     struct point *point = allo_vec_push(&points);      NULL when memory is short
 *
 * An all-zero vec is empty and owns nothing.
 */
#ifndef ALLO_BASE_VEC_H
#define ALLO_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLO_VEC(type)                                                                             \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t len, cap;                                                                   \
	}

/* Makes room for `more` further items; false when memory is short, and then nothing has changed. */
#define allo_vec_reserve(vec, more)                                                                \
	((vec)->cap - (vec)->len >= (size_t)(more) ||                                              \
	 allo_vec_grow(&(vec)->at, &(vec)->cap, (vec)->len, (more), sizeof(*(vec)->at)))

/* A new last item, not initialised, or NULL when memory is short. */
#define allo_vec_push(vec) (allo_vec_reserve((vec), 1) ? &(vec)->at[(vec)->len++] : NULL)

/* Appends `count` items; false when memory is short. */
#define allo_vec_append(vec, items, count)                                                         \
	allo_vec_append_bytes(&(vec)->at, &(vec)->len, &(vec)->cap, (items), (count),              \
			      sizeof(*(vec)->at))

#define allo_vec_done(vec)                                                                         \
	do {                                                                                       \
		allo_vec_free(&(vec)->at);                                                         \
		(vec)->len = (vec)->cap = 0;                                                       \
	} while (0)

/* Makes the vec at least `length` long, with zeros; false when memory is short. */
#define allo_vec_cover(vec, length)                                                                \
	allo_vec_cover_bytes(&(vec)->at, &(vec)->len, &(vec)->cap, (length), sizeof(*(vec)->at))

bool allo_vec_grow(void *at, size_t *cap, size_t len, size_t more, size_t item);
bool allo_vec_append_bytes(void *at, size_t *len, size_t *cap, const void *items, size_t count,
			   size_t item);
bool allo_vec_cover_bytes(void *at, size_t *len, size_t *cap, size_t length, size_t item);
void allo_vec_free(void *at);

#endif
