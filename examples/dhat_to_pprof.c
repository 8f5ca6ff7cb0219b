/*
 * dhat_to_pprof.c - converts a DHAT profile to pprof, and can filter it on the way.
 *
 *     dhat_to_pprof DHAT-FILE PPROF-FILE         in one call
 *     dhat_to_pprof DHAT-FILE PPROF-FILE BYTES   without call sites that allocated less
 */
#include <allotrope.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int report(const struct allotrope_error *err)
{
	char why[512];

	if (err->code == ALLOTROPE_OK)
		return 0;
	allotrope_error_text(err, why, sizeof(why));
	fprintf(stderr, "dhat_to_pprof: %s\n", why);
	return 1;
}

static bool convert(const char *input, const char *output, struct allotrope_error *err)
{
	/* Refuses any format other than DHAT. */
	struct allotrope_read_options reading = { .from = "dhat" };
	struct allotrope_write_options writing = { .to = "pprof", .replace = true };

	return allotrope_convert(input, output, &reading, &writing, err);
}

/* DHAT calls a sample a program point. */
static bool is_large(void *context, const struct allotrope_profile *profile, size_t index)
{
	const uint64_t *least = (const uint64_t *)context;
	int bytes = allotrope_find_metric(profile, "alloc_bytes", NULL);
	struct allotrope_sample sample;
	struct allotrope_call call;

	allotrope_get_sample(profile, index, &sample);
	if (bytes < 0 || sample.values[bytes] < *least)
		return false;
	if (allotrope_get_calls(profile, sample.stack, &call, 1) > 0)
		printf("%12" PRIu64 "  %s (%s:%u)\n", sample.values[bytes], call.function,
		       call.file, call.line);
	return true;
}

static bool convert_large(const char *input, const char *output, uint64_t least,
			  struct allotrope_error *err)
{
	struct allotrope_profile *profile = allotrope_read_file(input, NULL, err);
	/* Show the callers of malloc(), not malloc() itself. */
	struct allotrope_filter filter = { .trim_allocator = true };
	struct allotrope_write_options writing = { .to = "pprof", .replace = true };
	struct allotrope_meta meta;
	bool ok;

	if (!profile)
		return false;
	allotrope_get_meta(profile, &meta);
	printf("Command: %s\n", meta.command);
	printf("Program points: %zu\n", allotrope_sample_count(profile));
	allotrope_apply_filter(profile, &filter, err);
	allotrope_keep_samples(profile, is_large, &least, err);
	printf("Kept: %zu\n", allotrope_sample_count(profile));
	allotrope_add_comment(profile, "small sites were left out", err);
	ok = allotrope_write_file(profile, output, &writing, err);
	allotrope_profile_free(profile);
	return ok;
}

int main(int argc, char **argv)
{
	struct allotrope_error err = { 0 };

	if (argc < 3) {
		fprintf(stderr, "usage: dhat_to_pprof DHAT-FILE PPROF-FILE [BYTES]\n");
		return 2;
	}
	if (argc == 3)
		convert(argv[1], argv[2], &err);
	else
		convert_large(argv[1], argv[2], strtoull(argv[3], NULL, 10), &err);
	return report(&err);
}
