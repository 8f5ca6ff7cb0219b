/*
 * library_profile.c - a profile with all that pprof's encoders tend to get wrong: library_profile
 * OUTPUT
 *
 * Two objects have code at the same file offset, two functions have the same name, stacks are
 * deeper than one frame and have labels, and modules differ in their known properties.
 */
#include <allotrope.h>

#include <stdio.h>

static void add(struct allotrope_profile *profile, allotrope_stack_id stack,
		allotrope_labels_id labels, uint64_t blocks, uint64_t bytes,
		struct allotrope_error *err)
{
	uint64_t values[] = { blocks, bytes };
	struct allotrope_sample sample = {
		.values = values, .value_count = 2, .stack = stack, .labels = labels
	};

	allotrope_add_sample(profile, &sample, err);
}

static void add_modules(struct allotrope_profile *profile, struct allotrope_error *err)
{
	static const struct allotrope_module modules[] = {
		{ .path = "/bin/one",
		  .build_id = "aa01",
		  .start = 0x400000,
		  .limit = 0x410000,
		  .offset = 0x2000 },
		{ .path = "/lib/two.so",
		  .build_id = "bb02",
		  .start = 0x7f0000000000,
		  .limit = 0x7f0000010000,
		  .offset = 0x2000 },
		{ .path = "/lib/named.so", .start = 0x7f1000000000, .limit = 0x7f1000001000 },
		{ .path = "/lib/half.so", .start = 0x7f2000000000, .limit = 0x7f2000001000 },
	};

	for (size_t i = 0; i < 4; i++)
		allotrope_add_module(profile, &modules[i], err);
}

static void add_samples(struct allotrope_profile *profile, struct allotrope_error *err)
{
	static const uint64_t addresses[] = { 0x7f0000000123, 0x400123, 0x400456 };
	static const struct allotrope_call deep[] = {
		{ .function = "copy", .file = "text.h", .line = 11, .is_inlined = true },
		{ .function = "init", .file = "a.c", .line = 12, .address = 0x7f1000000100 },
		{ .function = "init", .file = "b.c", .line = 13, .address = 0x7f1000000200 },
		{ .function = "half", .file = "c.c", .line = 14, .address = 0x7f2000000100 },
		{ .address = 0x7f2000000200 },
		{ .function = "main", .file = "m.c", .line = 15 },
	};
	static const struct allotrope_label labels[] = {
		{ .key = "annotation", .text = "checkout" },
		{ .key = "size", .unit = "bytes", .number = 48 },
	};
	allotrope_labels_id set = allotrope_add_labels(profile, labels, 2, err);

	add(profile, allotrope_add_stack_of_addresses(profile, addresses, 3, err), set, 23, 1009,
	    err);
	add(profile, allotrope_add_stack_of_calls(profile, deep, 6, err), set, 7, 4096, err);
	add(profile, allotrope_add_stack_of_calls(profile, deep + 5, 1, err), 0, 1, 1, err);
}

int main(int argc, char **argv)
{
	struct allotrope_meta meta = { .period_type = "space",
				       .period_unit = "bytes",
				       .start_ns = 1700000000000000000,
				       .period = 524288,
				       .default_metric = 2 };
	struct allotrope_error err = { 0 };
	struct allotrope_profile *profile = allotrope_profile_new(&err);

	allotrope_add_metric(profile, "inuse_objects", "count", &err);
	allotrope_add_metric(profile, "inuse_space", "bytes", &err);
	allotrope_set_meta(profile, &meta, &err);
	add_modules(profile, &err);
	add_samples(profile, &err);
	allotrope_write_file(profile, argc > 1 ? argv[1] : NULL, NULL, &err);
	allotrope_profile_free(profile);
	if (err.code != ALLOTROPE_OK)
		fprintf(stderr, "%s\n", err.message);
	return err.code;
}
