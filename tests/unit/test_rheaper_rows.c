/* test_rheaper_rows.c - readers/rheaper/rheaper_rows.h, and with it the merging of files. */
#include "check.h"
#include "scratch.h"

#include "base/defer.h"
#include "readers/rheaper/rheaper_events.h"
#include "readers/rheaper/rheaper_profile.h"
#include "readers/rheaper/rheaper_rows.h"

#include <stdio.h>
#include <sys/stat.h>

struct event {
	unsigned char tag;
	uint64_t ns, number, address, thread, backtrace, size;
} __attribute__((packed));
_Static_assert(sizeof(struct event) == ALLO_RHEAPER_EVENT_SIZE, "as it lies in a file");

enum { ALLOC, FREE };

/* A recording in a folder, which is gone in the end. */
struct made {
	struct scratch scratch;
	char text[2000]; /* of rows */
};

static void made_done(struct made *made)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -r %s", made->scratch.folder);
	assert_int_equal(system(command), 0);
}

static void make_folders(struct made *made)
{
	scratch_init(&made->scratch);
	assert_int_equal(mkdir(scratch_path(&made->scratch, "events"), 0700), 0);
	assert_int_equal(mkdir(scratch_path(&made->scratch, "backtraces"), 0700), 0);
	scratch_write(&made->scratch, "backtraces/bt-0", "{\"frames\":[null],\"id\":7}\n", 25);
}

static void write_events(struct made *made, const char *name, const struct event *events,
			 size_t count)
{
	scratch_write(&made->scratch, name, events, count * sizeof(*events));
}

static bool print_rows(void *context, const struct allo_allocation *rows, size_t count,
		       struct allo_error *err)
{
	struct made *made = context;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(made->text);
		const struct allo_allocation *row = &rows[i];
		long long end = row->free_ns == ALLO_NEVER_FREED ? -1 : (long long)row->free_ns;

		snprintf(made->text + used, sizeof(made->text) - used,
			 "%llx:%llu %llu..%lld %u>%u%s%s\n", (unsigned long long)row->address,
			 (unsigned long long)row->size, (unsigned long long)row->alloc_ns, end,
			 row->alloc_thread, row->free_thread, row->is_temporary ? " short" : "",
			 row->stack ? "" : " ?");
	}
	return true;
}

/* Address, size, life, threads. */
static const char *rows_of(struct made *made)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };
	ALLO_DEFER(allo_rheaper_stacks_done) struct allo_rheaper_stacks stacks = { 0 };
	struct allo_error err = { 0 };

	made->text[0] = '\0';
	assert_true(allo_rheaper_open_directory(&files, made->scratch.folder, NULL, &err));
	assert_true(allo_rheaper_profile(&files, &stacks, &profile, &err));
	assert_true(allo_rheaper_rows(&files, &stacks, print_rows, made, &err));
	return made->text;
}

static void files_are_merged_by_the_numbers_of_events(void **state)
{
	ALLO_DEFER(made_done) struct made made;
	const struct event first[] = {
		{ ALLOC, 100, 1, 0xa0, 0, 7, 10 },
		{ FREE, 400, 4, 0xb0, 0, 0, 0 },
		{ ALLOC, 600, 6, 0xc0, 0, 7, 30 },
	};
	const struct event second[] = {
		{ ALLOC, 200, 2, 0xb0, 0, 7, 20 },
		{ FREE, 300, 3, 0xa0, 0, 0, 0 },
		{ ALLOC, 500, 5, 0xa0, 0, 8, 40 },
		{ FREE, 700, 7, 0xa0, 0, 0, 0 },
	};

	(void)state;
	make_folders(&made);
	write_events(&made, "events/events-10", first, 3);
	write_events(&made, "events/events-9", second, 4);
	assert_string_equal(rows_of(&made), "a0:10 100..300 2>1\n"
					    "b0:20 200..400 1>2\n"
					    "a0:40 500..700 1>1 short ?\n"
					    "c0:30 600..-1 2>0\n");
}

static void a_reused_address_ends_the_older_block(void **state)
{
	ALLO_DEFER(made_done) struct made made;
	const struct event events[] = {
		{ ALLOC, 100, 1, 0xa0, 0, 7, 10 }, { ALLOC, 200, 2, 0xa0, 0, 7, 20 },
		{ ALLOC, 300, 3, 0xb0, 0, 7, 30 }, { FREE, 400, 4, 0xa0, 0, 0, 0 },
		{ 2, 500, 5, 0xb0, 0, 0, 0 },
	};

	(void)state;
	make_folders(&made);
	write_events(&made, "events/events-0", events, 5);
	assert_string_equal(rows_of(&made), "a0:10 100..200 1>0\n"
					    "a0:20 200..400 1>1\n"
					    "b0:30 300..-1 1>0\n");
}

static bool refuse(void *context, const struct allo_allocation *rows, size_t count,
		   struct allo_error *err)
{
	(void)context;
	(void)rows;
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%zu are too many", count);
}

static void the_receiver_of_rows_may_stop(void **state)
{
	ALLO_DEFER(made_done) struct made made;
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };
	ALLO_DEFER(allo_rheaper_stacks_done) struct allo_rheaper_stacks stacks = { 0 };
	const struct event event = { ALLOC, 100, 1, 0xa0, 0, 7, 10 };
	struct allo_error err = { 0 };

	(void)state;
	make_folders(&made);
	write_events(&made, "events/events-0", &event, 1);
	assert_true(allo_rheaper_open_directory(&files, made.scratch.folder, NULL, &err));
	assert_true(allo_rheaper_profile(&files, &stacks, &profile, &err));
	assert_false(allo_rheaper_rows(&files, &stacks, refuse, NULL, &err));
	assert_string_equal(err.message, "1 are too many");
}

static void a_file_that_becomes_shorter_is_a_failure(void **state)
{
	ALLO_DEFER(made_done) struct made made;
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };
	ALLO_DEFER(allo_rheaper_stacks_done) struct allo_rheaper_stacks stacks = { 0 };
	const struct event events[2] = { { ALLOC, 100, 1, 0xa0, 0, 7, 10 } };
	struct allo_error err = { 0 };

	(void)state;
	make_folders(&made);
	write_events(&made, "events/events-0", events, 2);
	assert_true(allo_rheaper_open_directory(&files, made.scratch.folder, NULL, &err));
	write_events(&made, "events/events-0", events, 1);
	assert_false(allo_rheaper_profile(&files, &stacks, &profile, &err));
	assert_int_equal(err.code, ALLO_IO);
	assert_string_equal(err.pos.part, "events/events-0");
}

static void hashes_of_rust_are_taken_off(void **state)
{
	static const char *const names[][2] = {
		{ "a::b::h0123456789abcdef", "a::b" },
		{ "::h0123456789abcdef", "::h0123456789abcdef" },
		{ "a::h0123456789abcde", "a::h0123456789abcde" },
		{ "", "" },
		{ "a::h0123456789abcdefg", "a::h0123456789abcdefg" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_text_equal(allo_without_rust_hash(allo_text_of(names[i][0])), names[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_merged_by_the_numbers_of_events),
		cmocka_unit_test(a_reused_address_ends_the_older_block),
		cmocka_unit_test(the_receiver_of_rows_may_stop),
		cmocka_unit_test(a_file_that_becomes_shorter_is_a_failure),
		cmocka_unit_test(hashes_of_rust_are_taken_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
