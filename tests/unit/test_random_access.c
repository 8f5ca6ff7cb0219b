/* test_random_access.c - what can be read anywhere, whatever it came from. */
#include "base/defer.h"
#include "base/io/random_access.h"
#include "check.h"
#include "packing.h"
#include "scratch.h"

#include <fcntl.h>

/* The source is "0123456789" and says so anywhere. */
static void assert_digits(const struct allo_random_access *source)
{
	struct allo_error err = { 0 };
	char buffer[16];
	size_t got;

	assert_int_equal(source->size, 10);
	assert_true(allo_random_access_read(source, 7, buffer, sizeof(buffer), &got, &err));
	assert_int_equal(got, 3);
	assert_memory_equal(buffer, "789", 3);
	assert_true(allo_random_access_read(source, 0, buffer, 4, &got, &err));
	assert_int_equal(got, 4);
	assert_memory_equal(buffer, "0123", 4);
	assert_true(allo_random_access_read(source, 10, buffer, 4, &got, &err));
	assert_int_equal(got, 0);
	assert_true(allo_random_access_read(source, UINT64_MAX, buffer, 4, &got, &err));
	assert_int_equal(got, 0);
}

static void memory_is_a_source(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_random_access_close) struct allo_random_access source = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_input_open_memory(&in, "memory", "0123456789", 10, &err));
	assert_true(allo_random_access_open(&source, &in, &err));
	assert_digits(&source);
}

static void a_file_is_a_source_from_where_it_stands(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_random_access_close) struct allo_random_access source = { 0 };
	struct allo_error err = { 0 };
	int fd;

	(void)state;
	scratch_init(&scratch);
	fd = open(scratch_write(&scratch, "file", "abc0123456789", 13), O_RDONLY);
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	assert_true(allo_input_open_fd(&in, fd, "file", NULL, &err));
	assert_true(allo_random_access_open(&source, &in, &err));
	assert_digits(&source);
	close(fd);
}

static void a_pipe_is_spooled(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_random_access_close) struct allo_random_access source = { 0 };
	struct allo_error err = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "0123456789", 10), 10);
	close(ends[1]);
	assert_true(allo_input_open_fd(&in, ends[0], "pipe", NULL, &err));
	assert_true(allo_random_access_open(&source, &in, &err));
	assert_digits(&source);
	close(ends[0]);
}

static void what_is_packed_is_unpacked(void **state)
{
	ALLO_DEFER(bytes_done) struct bytes packed = zstd("0123456789", 10);
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_random_access_close) struct allo_random_access source = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_input_open_memory(&in, "packed", packed.data, packed.len, &err));
	assert_true(allo_random_access_open(&source, &in, &err));
	assert_digits(&source);
}

/* A compressed text can be read at any offset, if it can be copied. */
static void assert_copy(const char *text, size_t len, bool can_be_copied)
{
	ALLO_DEFER(bytes_done) struct bytes packed = zstd(text, len);
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_random_access_close) struct allo_random_access source = { 0 };
	struct allo_error err = { 0 };
	char buffer[5000];
	size_t got;

	assert_true(allo_input_open_memory(&in, "packed", packed.data, packed.len, &err));
	assert_int_equal(allo_random_access_open(&source, &in, &err), can_be_copied);
	if (!can_be_copied) {
		assert_int_equal(err.code, ALLO_IO);
		return;
	}
	assert_int_equal(source.size, len);
	assert_int_equal(source.stored, packed.len);
	for (size_t at = 0; at + sizeof(buffer) <= len; at += len / 7) {
		assert_true(
			allo_random_access_read(&source, at, buffer, sizeof(buffer), &got, &err));
		assert_int_equal(got, sizeof(buffer));
		assert_memory_equal(buffer, text + at, sizeof(buffer));
	}
}

static void only_large_copies_need_a_temporary_file(void **state)
{
	enum { SMALL = 1 << 20, LARGE = 40 << 20 };
	const char *before = getenv("TMPDIR");
	char *text = calloc(LARGE, 1);

	(void)state;
	for (size_t i = 0; i < LARGE; i++)
		text[i] = (char)(i >> 12);
	for (int has_folder = 0; has_folder < 2; has_folder++) {
		setenv("TMPDIR", has_folder ? "/tmp" : "/nonexistent", 1);
		assert_copy(text, SMALL, true);
		assert_copy(text, LARGE, has_folder);
	}
	if (before)
		setenv("TMPDIR", before, 1);
	else
		unsetenv("TMPDIR");
	free(text);
}

static void a_file_that_becomes_shorter_ends_there(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_random_access_close) struct allo_random_access source = { 0 };
	struct allo_error err = { 0 };
	const char *path;
	char buffer[16];
	size_t got;

	(void)state;
	scratch_init(&scratch);
	path = scratch_write(&scratch, "file", "0123456789", 10);
	assert_true(allo_input_open(&in, path, NULL, &err));
	assert_true(allo_random_access_open(&source, &in, &err));
	assert_int_equal(truncate(path, 4), 0);
	assert_true(allo_random_access_read(&source, 2, buffer, 8, &got, &err));
	assert_int_equal(got, 2);
	assert_memory_equal(buffer, "23", 2);
}

static void a_hole_at_the_end_has_no_data(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_random_access_close) struct allo_random_access source = { 0 };
	const uint64_t size = (uint64_t)1 << 40;
	struct allo_error err = { 0 };
	const char *path;
	char buffer[16];
	size_t got;

	(void)state;
	scratch_init(&scratch);
	path = scratch_write(&scratch, "file", "0123456789", 10);
	assert_int_equal(truncate(path, (off_t)size), 0);
	assert_true(allo_input_open(&in, path, NULL, &err));
	assert_true(allo_random_access_open(&source, &in, &err));
	assert_int_equal(allo_random_access_next_data(&source, 0), 0);
	assert_int_equal(allo_random_access_next_data(&source, 3), 3);
	assert_int_equal(allo_random_access_next_data(&source, 1 << 20), size);
	assert_int_equal(allo_random_access_next_data(&source, size), size);
	assert_true(allo_random_access_read(&source, 0, buffer, 10, &got, &err));
	assert_memory_equal(buffer, "0123456789", 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_a_source),
		cmocka_unit_test(a_file_is_a_source_from_where_it_stands),
		cmocka_unit_test(a_pipe_is_spooled),
		cmocka_unit_test(what_is_packed_is_unpacked),
		cmocka_unit_test(only_large_copies_need_a_temporary_file),
		cmocka_unit_test(a_file_that_becomes_shorter_ends_there),
		cmocka_unit_test(a_hole_at_the_end_has_no_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
