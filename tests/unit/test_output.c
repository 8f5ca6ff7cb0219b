/* test_output.c - base/io/output.h: what appears under which name, and when. */
#include "check.h"
#include "packing.h"
#include "random.h"
#include "scratch.h"

#include "base/defer.h"
#include "base/io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct allo_output_options plain = { .packing = ALLO_PLAIN };
static const struct allo_output_options replacing = { .packing = ALLO_PLAIN, .replace = true };

/* Stands in front of the C library's: some file systems have no files without names. */
static bool refuses_unnamed;

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (refuses_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return openat(AT_FDCWD, path, flags, mode);
}

static void assert_file_holds(const char *path, const char *text)
{
	size_t len;
	char *data = scratch_read(path, &len);

	assert_string_equal(data, text);
	free(data);
}

/* Writes a word to a file; what there is to say is in `err`. */
static bool write_word(const char *path, const struct allo_output_options *options,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!allo_output_open(&out, path, options, err))
		return false;
	allo_output_string(&out, "word");
	return allo_output_finish(&out, err);
}

/* Files and their names. */

static void a_file_appears_when_it_is_finished(void **state)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };
	const char *path;

	(void)state;
	scratch_init(&scratch);
	path = scratch_path(&scratch, "out");
	assert_true(allo_output_open(&out, path, &plain, &err));
	allo_output_string(&out, "hello");
	allo_output_flush(&out);
	assert_int_equal(scratch_count(&scratch), 0);
	assert_true(allo_output_finish(&out, &err));
	assert_int_equal(scratch_count(&scratch), 1);
	assert_file_holds(path, "hello");
	assert_int_equal(allo_output_size(&out), 5);
}

static void what_is_not_finished_leaves_no_trace(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };

	(void)state;
	scratch_init(&scratch);
	assert_true(allo_output_open(&out, scratch_path(&scratch, "out"), &plain, &err));
	allo_output_string(&out, "hello");
	allo_output_flush(&out);
	allo_output_drop(&out);
	assert_int_equal(scratch_count(&scratch), 0);
}

static void an_existing_file_is_replaced_only_if_asked_for(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 }, none = { 0 };
	const char *path;

	(void)state;
	scratch_init(&scratch);
	path = scratch_write(&scratch, "out", "old", 3);
	assert_false(write_word(path, &plain, &err));
	assert_int_equal(err.code, ALLO_USAGE);
	assert_non_null(strstr(err.hint, "-f"));
	assert_file_holds(path, "old");
	assert_true(write_word(path, &replacing, &none));
	assert_file_holds(path, "word");
	assert_int_equal(scratch_count(&scratch), 1);
}

static void a_file_that_somebody_else_makes_meanwhile_is_not_replaced(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
		ALLO_DEFER(scratch_done) struct scratch scratch;
		struct allo_error err = { 0 };
		const char *path;

		refuses_unnamed = i == 1;
		scratch_init(&scratch);
		path = scratch_path(&scratch, "out");
		assert_true(allo_output_open(&out, path, &plain, &err));
		scratch_write(&scratch, "out", "theirs", 6);
		assert_false(allo_output_finish(&out, &err));
		assert_int_equal(err.code, ALLO_IO);
		allo_output_drop(&out);
		assert_file_holds(path, "theirs");
		assert_int_equal(scratch_count(&scratch), 1);
		refuses_unnamed = false;
	}
}

static void a_link_stays_a_link(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };
	const char *path, *link;
	struct stat st;

	(void)state;
	scratch_init(&scratch);
	path = scratch_write(&scratch, "real", "old", 3);
	link = scratch_path(&scratch, "link");
	assert_int_equal(symlink("real", link), 0);
	assert_true(write_word(link, &replacing, &err));
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_file_holds(path, "word");
}

static void a_link_to_nothing_is_refused(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };
	const char *link;

	(void)state;
	scratch_init(&scratch);
	link = scratch_path(&scratch, "link");
	assert_int_equal(symlink("nothing", link), 0);
	assert_false(write_word(link, &replacing, &err));
	assert_non_null(strstr(err.message, "link"));
	assert_int_equal(scratch_count(&scratch), 1);
}

static void permissions_of_what_is_replaced_stay(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };
	const char *path;
	struct stat st;

	(void)state;
	scratch_init(&scratch);
	path = scratch_write(&scratch, "out", "secret", 6);
	assert_int_equal(chmod(path, 0600), 0);
	assert_true(write_word(path, &replacing, &err));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_folder_that_does_not_exist_is_told(void **state)
{
	struct allo_error err = { 0 };

	(void)state;
	assert_false(write_word("/does/not/exist", &plain, &err));
	assert_int_equal(err.code, ALLO_IO);
	assert_string_equal(err.pos.file, "/does/not/exist");
	assert_non_null(strstr(err.hint, "folder"));
}

static void a_folder_is_not_written_to(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };

	(void)state;
	scratch_init(&scratch);
	assert_false(write_word(scratch.folder, &replacing, &err));
	assert_int_equal(err.code, ALLO_IO);
}

static void without_unnamed_files_a_temporary_name_serves(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };
	const char *path;

	(void)state;
	scratch_init(&scratch);
	path = scratch_path(&scratch, "out");
	refuses_unnamed = true;
	assert_true(write_word(path, &plain, &err));
	assert_file_holds(path, "word");
	assert_true(write_word(path, &replacing, &err));
	assert_int_equal(scratch_count(&scratch), 1);

	/* Dropped, it leaves no trace either. */
	assert_true(allo_output_open(&out, path, &replacing, &err));
	assert_int_equal(scratch_count(&scratch), 2);
	allo_output_drop(&out);
	assert_int_equal(scratch_count(&scratch), 1);
	refuses_unnamed = false;
}

static void a_link_in_place_of_the_temporary_file_is_not_followed(void **state)
{
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };
	const char *victim;
	char name[64];

	(void)state;
	scratch_init(&scratch);
	victim = scratch_write(&scratch, "victim", "precious", 8);
	snprintf(name, sizeof(name), "out.%ld.tmp", (long)getpid());
	assert_int_equal(symlink("victim", scratch_path(&scratch, name)), 0);
	refuses_unnamed = true;
	assert_true(write_word(scratch_path(&scratch, "out"), &plain, &err));
	refuses_unnamed = false;
	assert_file_holds(victim, "precious");
}

/* Failing writes. */

static void a_full_disk_is_noticed(void **state)
{
	const enum allo_packing packings[] = { ALLO_PLAIN, ALLO_GZIP, ALLO_ZSTD };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
		struct allo_output_options options = { .packing = packings[i] };
		struct allo_error err = { 0 };

		assert_true(allo_output_open(&out, "/dev/full", &options, &err));
		for (int k = 0; k < 100000; k++)
			allo_output_printf(&out, "line %d\n", k);
		assert_false(allo_output_finish(&out, &err));
		assert_int_equal(err.code, ALLO_IO);
		assert_string_equal(err.pos.file, "/dev/full");
		assert_non_null(strstr(err.hint, "space"));
	}
}

static void a_closed_pipe_is_a_failure_where_the_signal_is_ignored(void **state)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };
	char path[32];
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	assert_true(allo_output_open(&out, path, &plain, &err));
	close(ends[0]);
	close(ends[1]);
	for (int i = 0; i < 100000; i++)
		allo_output_string(&out, "something long enough to fill a buffer\n");
	assert_false(allo_output_finish(&out, &err));
	assert_int_equal(err.code, ALLO_IO);
}

/* Bytes. */

static void what_is_written_in_pieces_comes_out_whole(void **state)
{
	enum { LEN = 3 << 20 };
	ALLO_DEFER(bytes_done) struct bytes text = { malloc(LEN), LEN };
	uint64_t seed = 17;

	(void)state;
	draw_text(&seed, text.data, LEN);
	for (uint32_t largest = 10; largest < 10000000; largest *= 100) {
		ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
		struct allo_error err = { 0 };
		size_t at = 0;

		assert_true(allo_output_open_memory(&out, &plain, &err));
		while (at < LEN) {
			size_t len = draw(&seed, largest);

			if (len > LEN - at)
				len = LEN - at;
			allo_output_bytes(&out, text.data + at, len);
			at += len;
		}
		assert_true(allo_output_finish(&out, &err));
		assert_int_equal(allo_output_memory(&out).len, LEN);
		assert_memory_equal(allo_output_memory(&out).data, text.data, LEN);
	}
}

static void numbers_and_text_are_formatted(void **state)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };
	static char wide[2000], expected[3000];

	(void)state;
	memset(wide, 'w', sizeof(wide) - 1);
	assert_true(allo_output_open_memory(&out, &plain, &err));
	allo_output_u64(&out, 0);
	allo_output_byte(&out, ' ');
	allo_output_u64(&out, UINT64_MAX);
	allo_output_byte(&out, ' ');
	allo_output_i64(&out, INT64_MIN);
	allo_output_byte(&out, ' ');
	allo_output_i64(&out, 7);
	allo_output_byte(&out, ' ');
	allo_output_utf8(&out, ALLO_TEXT("\xc2\xb5\xff\xc2"));
	allo_output_printf(&out, " %s", wide);
	assert_true(allo_output_finish(&out, &err));
	snprintf(
		expected, sizeof(expected),
		"0 18446744073709551615 -9223372036854775808 7 \xc2\xb5\xef\xbf\xbd\xef\xbf\xbd %s",
		wide);
	assert_text_equal(allo_output_memory(&out), expected);
}

static void what_a_terminal_would_obey_is_replaced(void **state)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_output_open_memory(&out, &plain, &err));
	allo_output_printable(&out, (struct allo_text){ "a\x1b[1m\0b\xc2\x9b"
							"c\xff\xc2",
							12 });
	allo_output_printable(&out, (struct allo_text){ NULL, 0 });
	allo_output_printable(&out, ALLO_TEXT("\n"));
	assert_true(allo_output_finish(&out, &err));
	assert_text_equal(allo_output_memory(&out), "a?[1m?b?c\xef\xbf\xbd\xef\xbf\xbd?");
}

static void room_asked_for_is_there(void **state)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_output_open_memory(&out, &plain, &err));
	for (int i = 0; i < 1000; i++) {
		char *room = allo_output_room(&out, 64 << 10);

		memset(room, 'a' + i % 26, 64 << 10);
		allo_output_wrote(&out, room + i);
	}
	assert_true(allo_output_finish(&out, &err));
	assert_int_equal(allo_output_memory(&out).len, 999 * 1000 / 2);
	assert_int_equal(allo_output_memory(&out).data[allo_output_memory(&out).len - 1],
			 'a' + 999 % 26);
}

static void who_runs_out_of_memory_is_heard_at_the_end(void **state)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };

	(void)state;
	scratch_init(&scratch);
	assert_true(allo_output_open(&out, scratch_path(&scratch, "out"), &plain, &err));
	allo_output_fail_memory(&out);
	assert_false(allo_output_finish(&out, &err));
	assert_int_equal(err.code, ALLO_NOMEM);
	assert_int_equal(scratch_count(&scratch), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_appears_when_it_is_finished),
		cmocka_unit_test(what_is_not_finished_leaves_no_trace),
		cmocka_unit_test(an_existing_file_is_replaced_only_if_asked_for),
		cmocka_unit_test(a_file_that_somebody_else_makes_meanwhile_is_not_replaced),
		cmocka_unit_test(a_link_stays_a_link),
		cmocka_unit_test(a_link_to_nothing_is_refused),
		cmocka_unit_test(permissions_of_what_is_replaced_stay),
		cmocka_unit_test(a_folder_that_does_not_exist_is_told),
		cmocka_unit_test(a_folder_is_not_written_to),
		cmocka_unit_test(without_unnamed_files_a_temporary_name_serves),
		cmocka_unit_test(a_link_in_place_of_the_temporary_file_is_not_followed),
		cmocka_unit_test(a_full_disk_is_noticed),
		cmocka_unit_test(a_closed_pipe_is_a_failure_where_the_signal_is_ignored),
		cmocka_unit_test(what_is_written_in_pieces_comes_out_whole),
		cmocka_unit_test(numbers_and_text_are_formatted),
		cmocka_unit_test(what_a_terminal_would_obey_is_replaced),
		cmocka_unit_test(room_asked_for_is_there),
		cmocka_unit_test(who_runs_out_of_memory_is_heard_at_the_end),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
