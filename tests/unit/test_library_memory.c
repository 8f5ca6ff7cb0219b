/*
 * test_library_memory.c - liballotrope when memory runs out: at the first allocation, at the
 * second, ...
 *
 * malloc() and its like are ours, for the library too, since a program's symbols come first.  Each
 * round must end in a clean failure and a valid profile; that nothing leaks is for the sanitizers
 * to see.
 */
#include "check_library.h"
#include "sanitized.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The real function. */
#if IS_SANITIZED
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *old, size_t size);

/* Which allocation from now on fails, counted down; 0: none. */
static atomic_long failing;
static atomic_bool has_failed; /* it was reached */
static bool from_then_on;      /* all later ones fail, too */

static bool must_fail(void)
{
	long left = atomic_load(&failing);

	if (left == 0)
		return false;
	if (left > 1) {
		atomic_fetch_sub(&failing, 1);
		return false;
	}
	if (!from_then_on)
		atomic_store(&failing, 0);
	atomic_store(&has_failed, true);
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return must_fail() ? NULL : REAL(malloc)(size);
}

void *calloc(size_t count, size_t size)
{
	return must_fail() ? NULL : REAL(calloc)(count, size);
}

void *realloc(void *old, size_t size)
{
	return must_fail() ? NULL : REAL(realloc)(old, size);
}

/* The operation under test: calls every function with `err` and frees everything. */
typedef void (*round_of_calls)(struct allotrope_error *err);

/* A profile that may be left as it is by a failure, but not broken by it. */
static void drop(struct allotrope_profile *profile)
{
	atomic_store(&failing, 0);
	if (profile)
		assert_true(allotrope_validate(profile, NULL));
	allotrope_profile_free(profile);
}

/* Runs it with one allocation after the other failing, until none is left to fail. */
static void try_all(round_of_calls round)
{
	long n = 0;

	do {
		struct allotrope_error err = { 0 };

		n++;
		atomic_store(&has_failed, false);
		atomic_store(&failing, n);
		round(&err);
		atomic_store(&failing, 0);
		/* Some things have a second way that needs less. */
		if (err.code == ALLOTROPE_OK)
			continue;
		assert_true(has_failed);
		assert_int_equal(err.code, ALLOTROPE_NOMEM);
		assert_string_equal(err.message, "out of memory");
	} while (has_failed);
	assert_true(n > 10); /* or nothing has been tried */
}

static void try_both(round_of_calls round)
{
	from_then_on = false;
	try_all(round);
	from_then_on = true;
	try_all(round);
}

/* Building. */

static struct allotrope_profile *build(struct allotrope_error *err)
{
	static const struct allotrope_call calls[] = {
		{ .function = "inner", .file = "a.h", .line = 1, .is_inlined = true },
		{ .function = "outer", .file = "a.c", .line = 2, .address = 0x1100 },
		{ .function = "main", .file = "b.c", .line = 3 },
	};
	static const uint64_t addresses[] = { 0x1300, 0x1200, 0x5000 };
	static const struct allotrope_label labels[] = { { .key = "k", .text = "v" },
							 { .key = "n", .number = 5 } };
	static const struct allotrope_module module = {
		.path = "/bin/m", .build_id = "c0ffee", .start = 0x1000, .limit = 0x2000
	};
	static const uint64_t values[] = { 3, 1009 };
	struct allotrope_meta meta = { .command = "./m", .period_type = "space", .period = 1 };
	struct allotrope_sample sample = { .values = values, .value_count = 2 };
	struct allotrope_profile *profile = allotrope_profile_new(err);

	allotrope_add_metric(profile, "alloc_objects", "count", err);
	allotrope_add_metric(profile, "alloc_space", "bytes", err);
	allotrope_set_meta(profile, &meta, err);
	allotrope_add_comment(profile, "hello", err);
	allotrope_add_module(profile, &module, err);
	sample.stack = allotrope_add_stack_of_calls(profile, calls, 3, err);
	allotrope_add_sample(profile, &sample, err);
	sample.labels = allotrope_add_labels(profile, labels, 2, err);
	sample.stack = allotrope_add_stack_of_addresses(profile, addresses, 3, err);
	allotrope_add_sample(profile, &sample, err);
	return profile;
}

/* Writes, reads again and drops the copy; its sum must be that of `build`. */
static void write_and_read(const struct allotrope_profile *profile, const char *packing,
			   struct allotrope_error *err)
{
	struct allotrope_write_options options = { .to = "pprof", .packing = packing };
	size_t len = 0;
	char *memory = allotrope_write_memory(profile, &options, &len, err);
	struct allotrope_profile *again = allotrope_read_memory(memory, len, NULL, NULL, err);

	if (again)
		assert_int_equal(allotrope_sum(again, 1), 2 * 1009);
	allotrope_free(memory);
	allotrope_profile_free(again);
}

static void build_write_read(struct allotrope_error *err)
{
	struct allotrope_profile *profile = build(err);

	write_and_read(profile, "gzip", err);
	write_and_read(profile, "none", err);
	drop(profile);
}

static void building_writing_and_reading_fail_cleanly(void **state)
{
	(void)state;
	try_both(build_write_read);
}

/* Changing. */

static bool keep_labelled(void *context, const struct allotrope_profile *profile, size_t index)
{
	struct allotrope_sample sample;

	(void)context;
	return allotrope_get_sample(profile, index, &sample) && sample.labels != 0;
}

static void change(struct allotrope_error *err)
{
	/* No /regex/: the C library's regcomp() may free twice when memory is short. */
	static const char *const hidden[] = { "=inner", NULL };
	static const char *const names[] = { "alloc_bytes" };
	struct allotrope_filter filter = { .hide = hidden, .trim_allocator = true };
	struct allotrope_profile *a = build(err), *b = build(err), *diff, *copy;
	size_t count;

	allotrope_merge(a, b, err);
	allotrope_apply_filter(a, &filter, err);
	diff = allotrope_diff(b, a, ALLOTROPE_MATCH_LINE, err);
	copy = allotrope_profile_new(err);
	allotrope_merge(copy, diff, err);
	allotrope_select_metrics(a, names, 1, err);
	allotrope_free(allotrope_top(diff, NULL, &count, err));
	allotrope_keep_samples(a, keep_labelled, NULL, err);
	drop(a);
	drop(b);
	drop(diff);
	drop(copy);
}

static void changing_fails_cleanly(void **state)
{
	(void)state;
	try_both(change);
}

/* Every format that can be read. */

static void read_text(const char *text, struct allotrope_error *err)
{
	struct allotrope_read_options options = { .keep_accesses = true };

	drop(allotrope_read_memory(text, strlen(text), NULL, &options, err));
}

static void read_folded(struct allotrope_error *err)
{
	read_text("main;parse 3\nmain;draw 4\nmain;parse 5\n", err);
}

static void read_dhat(struct allotrope_error *err)
{
	read_text(
		"{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,"
		"\"bkacc\":true,\"tu\":\"instrs\",\"Mtu\":\"Minstr\",\"tuth\":500,"
		"\"cmd\":\"./a\",\"pid\":1,\"te\":100,\"tg\":50,\"pps\":["
		"{\"tb\":8,\"tbk\":1,\"tl\":5,\"mb\":8,\"mbk\":1,\"gb\":8,\"gbk\":1,\"eb\":0,"
		"\"ebk\":0,\"rb\":1,\"wb\":2,\"acc\":[-2,3,4],\"fs\":[1,2]}],\"ftbl\":[\"[root]\","
		"\"0x10: malloc (in /lib/m.so)\",\"0x20: main (a.c:3)\"]}",
		err);
}

static void reading_fails_cleanly(void **state)
{
	(void)state;
	try_both(read_folded);
	try_both(read_dhat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(building_writing_and_reading_fail_cleanly),
		cmocka_unit_test(changing_fails_cleanly),
		cmocka_unit_test(reading_fails_cleanly),
	};

	return cmocka_run_group_tests_name("library_memory", tests, NULL, NULL);
}
