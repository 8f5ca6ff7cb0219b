/*
 * build.c - builds a profile from measurements of a program.
 *
 *     build OUTPUT
 */
#include <allotrope.h>

#include <stdio.h>
#include <time.h>

/* Metadata: the program and how it was sampled. */
static void describe(struct allotrope_profile *profile, struct allotrope_error *err)
{
	struct allotrope_meta meta = {
		.command = "./server --port 8080",
		.period_type = "space",
		.period_unit = "bytes",
		.pid = 4711,
		.start_ns = (int64_t)time(NULL) * 1000000000,
		.duration = 2500000000,
		.period = 524288,    /* sampling interval in bytes */
		.default_metric = 2, /* viewers open with the second metric */
	};

	allotrope_add_metric(profile, "alloc_objects", "count", err);
	allotrope_add_metric(profile, "alloc_space", "bytes", err);
	allotrope_set_meta(profile, &meta, err);
}

static void add_sample(struct allotrope_profile *profile, allotrope_stack_id stack,
		       allotrope_labels_id labels, uint64_t blocks, uint64_t bytes,
		       struct allotrope_error *err)
{
	uint64_t values[] = { blocks, bytes };
	struct allotrope_sample sample = {
		.values = values, .value_count = 2, .stack = stack, .labels = labels
	};

	allotrope_add_sample(profile, &sample, err);
}

/* Stacks of addresses, as an unwinder finds them, each in a mapping of the process. */
static void add_addresses(struct allotrope_profile *profile, struct allotrope_error *err)
{
	static const unsigned char id[] = { 0xc0, 0xff, 0xee, 0x12, 0x34 }; /* from the ELF note */
	struct allotrope_module program = { .path = "/usr/bin/server",
					    .build_id = "5eed00",
					    .start = 0x401000,
					    .limit = 0x405000,
					    .offset = 0x1000 };
	struct allotrope_module library = { .path = "/usr/lib/libparse.so.2",
					    .start = 0x7f0000001000,
					    .limit = 0x7f0000003000,
					    .offset = 0x1000,
					    .build_id_bytes = id,
					    .build_id_size = sizeof(id) };
	/* Leaf first.  Call addresses: an unwinder's return addresses minus 1. */
	static const uint64_t addresses[] = { 0x7f0000001233, 0x401454, 0x401099 };

	allotrope_add_module(profile, &program, err); /* the program itself comes first */
	allotrope_add_module(profile, &library, err);
	add_sample(profile, allotrope_add_stack_of_addresses(profile, addresses, 3, err), 0, 3,
		   4096, err);
}

/* Stacks of names, as an interpreter has them.  append() is inlined into read_rows(). */
static void add_names(struct allotrope_profile *profile, struct allotrope_error *err)
{
	static const struct allotrope_call calls[] = {
		{ .function = "append", .file = "list.h", .line = 31, .is_inlined = true },
		{ .function = "read_rows", .file = "table.c", .line = 120 },
		{ .function = "main", .file = "main.c", .line = 8 },
	};
	static const struct allotrope_label labels[] = {
		{ .key = "request", .text = "/report" },
		{ .key = "block_size", .unit = "bytes", .number = 64 },
	};

	add_sample(profile, allotrope_add_stack_of_calls(profile, calls, 3, err),
		   allotrope_add_labels(profile, labels, 2, err), 100, 6400, err);
}

int main(int argc, char **argv)
{
	struct allotrope_error err = { 0 };
	struct allotrope_profile *profile = allotrope_profile_new(&err);
	char why[512];

	describe(profile, &err);
	add_addresses(profile, &err);
	add_names(profile, &err);
	if (!allotrope_write_file(profile, argc > 1 ? argv[1] : NULL, NULL, &err)) {
		allotrope_error_text(&err, why, sizeof(why));
		fprintf(stderr, "build: %s\n", why);
	}
	allotrope_profile_free(profile);
	return err.code == ALLOTROPE_OK ? 0 : 1;
}
