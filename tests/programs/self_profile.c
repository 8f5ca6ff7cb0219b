/*
 * self_profile.c - a program's own stack as addresses, for another tool to name:
 * self_profile OUTPUT
 */
#include <allotrope.h>

#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 64 };

/* All files that are mapped as code, as /proc/self/maps lists them: the program comes first there.
 */
static void add_modules(struct allotrope_profile *profile, struct allotrope_error *err)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], path[4096], access[8];

	while (maps && fgets(line, sizeof(line), maps)) {
		struct allotrope_module module = { .path = path };

		path[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095[^\n]",
			   &module.start, &module.limit, access, &module.offset, path) >= 4 &&
		    strchr(access, 'x') && path[0] == '/')
			allotrope_add_module(profile, &module, err);
	}
	if (maps)
		fclose(maps);
}

__attribute__((noinline)) static int inner(struct allotrope_profile *profile,
					   struct allotrope_error *err)
{
	const uint64_t value = 1009;
	struct allotrope_sample sample = { .values = &value, .value_count = 1 };
	void *returns[DEPTH];
	uint64_t calls[DEPTH];
	int count = backtrace(returns, DEPTH); /* the leaf calls */

	for (int i = 0; i < count; i++)
		calls[i] = (uint64_t)(uintptr_t)returns[i] - 1;
	sample.stack = allotrope_add_stack_of_addresses(profile, calls, (size_t)count, err);
	return allotrope_add_sample(profile, &sample, err);
}

__attribute__((noinline)) static int outer(struct allotrope_profile *profile,
					   struct allotrope_error *err)
{
	return inner(profile, err) + 1; /* its caller calls */
}

int main(int argc, char **argv)
{
	struct allotrope_write_options options = { .replace = true };
	struct allotrope_error err = { 0 };
	struct allotrope_profile *profile = allotrope_profile_new(&err);

	allotrope_add_metric(profile, "alloc_bytes", NULL, &err);
	add_modules(profile, &err);
	outer(profile, &err); /* main calls */
	allotrope_write_file(profile, argc > 1 ? argv[1] : NULL, &options, &err);
	allotrope_profile_free(profile);
	return err.code;
}
