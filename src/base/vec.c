/* vec.c - growing; the item pointers have any type, so they are copied as bytes. */
#include "base/vec.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

bool allo_vec_grow(void *at, size_t *cap, size_t len, size_t more, size_t item)
{
	void *items;
	size_t want, bytes;

	ALLO_ASSERT(len <= *cap);
	if (__builtin_add_overflow(len, more, &want))
		return false;
	/* Half more each time: amortised constant, and less waste than doubling. */
	if (want < *cap + *cap / 2)
		want = *cap + *cap / 2;
	if (want < 8)
		want = 8;
	if (__builtin_mul_overflow(want, item, &bytes))
		return false;
	memcpy(&items, at, sizeof(items));
	items = realloc(items, bytes);
	if (!items)
		return false;
	memcpy(at, &items, sizeof(items));
	*cap = want;
	ALLO_ASSERT(*cap - len >= more);
	return true;
}

bool allo_vec_append_bytes(void *at, size_t *len, size_t *cap, const void *items, size_t count,
			   size_t item)
{
	char *to;

	ALLO_ASSERT(*len <= *cap);
	if (count == 0)
		return true;
	if (*cap - *len < count && !allo_vec_grow(at, cap, *len, count, item))
		return false;
	memcpy(&to, at, sizeof(to));
	memcpy(to + *len * item, items, count * item);
	*len += count;
	return true;
}

void allo_vec_free(void *at)
{
	void *items;

	memcpy(&items, at, sizeof(items));
	free(items);
	items = NULL;
	memcpy(at, &items, sizeof(items));
}

bool allo_vec_cover_bytes(void *at, size_t *len, size_t *cap, size_t length, size_t item)
{
	char *items;

	ALLO_ASSERT(*len <= *cap);
	if (length <= *len)
		return true;
	if (length > *cap && !allo_vec_grow(at, cap, *len, length - *len, item))
		return false;
	memcpy(&items, at, sizeof(items));
	memset(items + *len * item, 0, (length - *len) * item);
	*len = length;
	return true;
}
