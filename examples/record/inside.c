/*
 * inside.c - records a part of itself and asserts limits on its allocations.
 *
 *     cc -g examples/record/inside.c -o inside $(pkg-config --cflags --libs allo)
 */
#include <allo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *load(const char *name)
{
	char *text = malloc(1000);

	return text ? strcpy(text, name) : NULL;
}

static size_t count_letters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text != ' ';
	return count;
}

int main(void)
{
	struct allo_config config = { .path = "inside.allo", .has_stats = true };
	struct allo_heap_stats stats;
	char *text = NULL;

	if (!allo_start(&config)) {
		fprintf(stderr, "inside: %s\n", allo_error());
		return 1;
	}
	allo_label_push("phase", "load");
	ALLO_ASSERT_MAX_BYTES(1 << 20)
	{
		text = load("one substance, many forms");
	}
	allo_label_pop();
	allo_mark("loaded");
	ALLO_ASSERT_NO_ALLOCS
	{
		if (text)
			count_letters(text);
	}
	allo_get_heap_stats(&stats);
	free(text);
	if (!allo_stop()) {
		fprintf(stderr, "inside: %s\n", allo_error());
		return 1;
	}
	printf("%llu bytes in %llu block at the peak\n", (unsigned long long)stats.peak_bytes,
	       (unsigned long long)stats.peak_blocks);
	return 0;
}
