/*
 * sort.c - qsort() and qsort_r() for the engine.
 *
 * wasi-libc has no qsort_r(), and its qsort() changes the order of equal items.  This is a merge
 * sort, like glibc's: items that compare equal come in the same order in both builds of the core.
 */
#include "wasm/missing.h"

#include <stdlib.h>
#include <string.h>

struct sorter {
	size_t size; /* of an item */
	int (*compare)(const void *a, const void *b, void *context);
	void *context;
};

/* Merges items[0, half) and items[half, count), which are sorted.  `room` holds the first part. */
static void merge(const struct sorter *sorter, char *items, size_t half, size_t count, char *room)
{
	size_t size = sorter->size;
	char *first = room, *first_end = room + half * size;
	char *second = items + half * size, *second_end = items + count * size;

	memcpy(room, items, half * size);
	while (first < first_end && second < second_end) {
		char **next = sorter->compare(first, second, sorter->context) <= 0 ? &first
										   : &second;

		memcpy(items, *next, size);
		items += size;
		*next += size;
	}
	memcpy(items, first, (size_t)(first_end - first));
}

static void sort(const struct sorter *sorter, char *items, size_t count, char *room)
{
	size_t half = count / 2;

	if (count < 2)
		return;
	sort(sorter, items, half, room);
	sort(sorter, items + half * sorter->size, count - half, room);
	merge(sorter, items, half, count, room);
}

void qsort_r(void *items, size_t count, size_t size,
	     int (*compare)(const void *a, const void *b, void *context), void *context)
{
	const struct sorter sorter = { size, compare, context };
	char *room = malloc(count / 2 * size + 1);

	/* Nothing can be reported from here: the page learns that its engine has ended. */
	if (!room)
		__builtin_trap();
	sort(&sorter, items, count, room);
	free(room);
}

struct plain {
	int (*compare)(const void *a, const void *b);
};

static int compare_plain(const void *a, const void *b, void *context)
{
	const struct plain *plain = context;

	return plain->compare(a, b);
}

void qsort(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
	struct plain plain = { compare };

	qsort_r(items, count, size, compare_plain, &plain);
}
