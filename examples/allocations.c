/*
 * allocations.c - the largest blocks of a recording that were live at its peak.
 *
 *     allocations FILE
 */
#include <allotrope.h>

#include <inttypes.h>
#include <stdio.h>

static bool print_large(void *context, const struct allotrope_profile *profile,
			const struct allotrope_allocation *rows, size_t count)
{
	const uint64_t *least = (const uint64_t *)context;
	struct allotrope_call call;

	for (size_t i = 0; i < count; i++) {
		if (rows[i].size < *least)
			continue;
		if (allotrope_get_calls(profile, rows[i].stack, &call, 1) == 0)
			call.function = "(unknown)";
		printf("%12" PRIu64 " bytes, allocated after %" PRIu64 " ns by %s\n", rows[i].size,
		       rows[i].alloc_ns, call.function);
	}
	return true;
}

int main(int argc, char **argv)
{
	struct allotrope_read_options options = { .at = "peak" };
	struct allotrope_error err = { 0 };
	uint64_t least = 1000;
	char why[512];

	if (argc != 2) {
		fprintf(stderr, "usage: allocations FILE\n");
		return 2;
	}
	if (allotrope_read_allocations(argv[1], &options, print_large, &least, &err))
		return 0;
	allotrope_error_text(&err, why, sizeof(why));
	fprintf(stderr, "allocations: %s\n", why);
	return 1;
}
