/* test_input.c - base/io/input.h and base/io/unpack.h: the same bytes, wherever they come from. */
#include "check.h"
#include "packing.h"
#include "random.h"
#include "scratch.h"

#include "base/defer.h"
#include "base/io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* Ways in. */

enum source { FROM_MEMORY, FROM_FILE, FROM_PIPE, SOURCES };
enum packed { AS_IS, AS_GZIP, AS_ZSTD, PACKINGS };

struct way {
	struct scratch scratch;
	struct bytes bytes; /* as they lie in the file */
	char path[320];
	pid_t writer;
	struct allo_input in;
};

static void way_done(struct way *way)
{
	allo_input_close(&way->in);
	if (way->writer > 0) {
		kill(way->writer, SIGKILL);
		waitpid(way->writer, NULL, 0);
	}
	bytes_done(&way->bytes);
	scratch_done(&way->scratch);
}

/* Writes in pieces of odd sizes, so that readers get them like that. */
static void write_pieces(int fd, struct bytes bytes)
{
	uint64_t seed = 1;

	while (bytes.len > 0) {
		size_t piece = 1 + draw(&seed, 100000);
		ssize_t wrote = write(fd, bytes.data, piece < bytes.len ? piece : bytes.len);

		if (wrote < 0)
			_exit(1);
		bytes.data += wrote;
		bytes.len -= (size_t)wrote;
	}
	_exit(0);
}

static void open_pipe(struct way *way)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	way->writer = fork();
	assert_true(way->writer >= 0);
	if (way->writer == 0) {
		signal(SIGPIPE, SIG_IGN);
		close(ends[0]);
		write_pieces(ends[1], way->bytes);
	}
	close(ends[1]);
	snprintf(way->path, sizeof(way->path), "/dev/fd/%d", ends[0]);
}

/* Takes the bytes, which may be packed already. */
static bool way_open(struct way *way, enum source source, struct bytes bytes,
		     struct allo_error *err)
{
	bool ok;

	*way = (struct way){ .bytes = bytes, .in = { .fd = -1 } };
	scratch_init(&way->scratch);
	if (source == FROM_MEMORY)
		return allo_input_open_memory(&way->in, "memory", bytes.data, bytes.len, err);
	if (source == FROM_PIPE)
		open_pipe(way);
	else
		strcpy(way->path, scratch_write(&way->scratch, "file", bytes.data, bytes.len));
	ok = allo_input_open(&way->in, way->path, NULL, err);
	if (source == FROM_PIPE)
		close(atoi(strrchr(way->path, '/') + 1));
	return ok;
}

static struct bytes pack(enum packed packed, const char *data, size_t len)
{
	struct bytes copy = { NULL, len };

	if (packed == AS_GZIP)
		return gzip(data, len);
	if (packed == AS_ZSTD)
		return zstd(data, len);
	copy.data = malloc(len + 1);
	memcpy(copy.data, data, len);
	return copy;
}

/* Ways to read. */

typedef bool (*gather)(struct allo_input *in, struct bytes *got, struct allo_error *err);

static void add(struct bytes *got, const char *data, size_t len)
{
	if (len > 0)
		memcpy(got->data + got->len, data, len);
	got->len += len;
}

static bool by_line(struct allo_input *in, struct bytes *got, struct allo_error *err)
{
	struct allo_text line;

	while (allo_input_line(in, &line, err)) {
		add(got, line.data, line.len);
		add(got, "\n", 1);
	}
	return !allo_failed(err);
}

static bool by_lines(struct allo_input *in, struct bytes *got, struct allo_error *err)
{
	struct allo_text lines;

	while (allo_input_lines(in, &lines, err)) {
		assert_int_equal(lines.data[lines.len - 1], '\n');
		add(got, lines.data, lines.len);
	}
	return !allo_failed(err);
}

static bool by_window(struct allo_input *in, struct bytes *got, struct allo_error *err)
{
	do {
		add(got, in->next, allo_input_unread(in));
		in->next = in->end;
	} while (allo_input_more(in, err));
	return !allo_failed(err);
}

static bool by_taking(struct allo_input *in, struct bytes *got, struct allo_error *err)
{
	size_t len;

	while ((len = allo_input_take(in, got->data + got->len, 77777, err)) > 0)
		got->len += len;
	return !allo_failed(err);
}

static bool at_once(struct allo_input *in, struct bytes *got, struct allo_error *err)
{
	struct allo_text all;

	if (!allo_input_all(in, &all, err))
		return false;
	add(got, all.data, all.len);
	return true;
}

static const gather gathers[] = { by_line, by_lines, by_window, by_taking, at_once };
enum { GATHERS = sizeof(gathers) / sizeof(*gathers) };

static void check_all_ways(const char *text, size_t len)
{
	for (int source = 0; source < SOURCES; source++) {
		for (int packed = 0; packed < PACKINGS; packed++) {
			for (int i = 0; i < GATHERS; i++) {
				ALLO_DEFER(bytes_done)
				struct bytes got = { malloc(len + 100000), 0 };
				ALLO_DEFER(way_done) struct way way = { 0 };
				struct allo_error err = { 0 };

				assert_true(way_open(&way, (enum source)source,
						     pack((enum packed)packed, text, len), &err));
				assert_true(gathers[i](&way.in, &got, &err));
				assert_int_equal(got.len, len);
				assert_memory_equal(got.data, text, len);
				if (gathers[i] != by_taking && gathers[i] != at_once)
					assert_int_equal(allo_input_offset(&way.in).offset, len);
			}
		}
	}
}

static void every_way_in_gives_the_same_bytes(void **state)
{
	enum { LEN = 700000 };
	char *text = malloc(LEN);
	uint64_t seed = 7;

	(void)state;
	draw_text(&seed, text, LEN);
	for (size_t i = 0; i < LEN; i += 1 + draw(&seed, 200))
		text[i] = '\n';
	text[LEN - 1] = '\n';
	check_all_ways(text, LEN);
	check_all_ways("\n", 1);
	check_all_ways("", 0);
	free(text);
}

/* Lines. */

static void lines_lose_their_ends_and_nothing_else(void **state)
{
	const char text[] = "a\nb\r\n\r\n\n c\rd \r\r\nlast";
	const char *lines[] = { "a", "b", "", "", " c\rd \r", "last" };
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };
	struct allo_text line;

	(void)state;
	assert_true(allo_input_open_memory(&in, "m", text, strlen(text), &err));
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		assert_true(allo_input_line(&in, &line, &err));
		assert_text_equal(line, lines[i]);
	}
	assert_false(allo_input_line(&in, &line, &err));
	assert_false(allo_failed(&err));
}

static void the_last_lines_need_no_newline(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };
	struct allo_text lines;

	(void)state;
	assert_true(allo_input_open_memory(&in, "m", "a\nb\nc", 5, &err));
	assert_true(allo_input_lines(&in, &lines, &err));
	assert_text_equal(lines, "a\nb\n");
	assert_true(allo_input_lines(&in, &lines, &err));
	assert_text_equal(lines, "c");
	assert_false(allo_input_lines(&in, &lines, &err));
	assert_false(allo_failed(&err));
}

static void positions_are_lines_or_bytes(void **state)
{
	const char text[] = "one\ntwo\nthree";
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };
	struct allo_text line;

	(void)state;
	assert_true(allo_input_open_memory(&in, "m", text, strlen(text), &err));
	assert_true(allo_input_line(&in, &line, &err));
	assert_int_equal(allo_input_pos(&in).line, 2);
	assert_int_equal(allo_input_pos(&in).byte, 1);
	assert_int_equal(allo_input_pos_at(&in, text + 10).line, 3);
	assert_int_equal(allo_input_pos_at(&in, text + 10).byte, 3);
	allo_input_set_binary(&in);
	assert_int_equal(allo_input_pos_at(&in, text + 10).line, 0);
	assert_int_equal(allo_input_pos_at(&in, text + 10).byte, 11);
}

static void counted_lines_need_not_be_counted_again(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };
	struct allo_text lines;

	(void)state;
	assert_true(allo_input_open_memory(&in, "m", "a\nbc\nd", 6, &err));
	assert_true(allo_input_lines(&in, &lines, &err));
	allo_input_lines_counted(&in, 2);
	assert_int_equal(allo_input_pos(&in).line, 3);
	assert_int_equal(allo_input_pos(&in).byte, 1);
	assert_int_equal(allo_input_offset(&in).offset, 5);
}

/* Both from a file without a single newline, which needs no room on the disk. */
static void a_line_of_more_than_64_mib_is_refused(void **state)
{
	struct allo_text line;

	(void)state;
	for (int i = 0; i < 2; i++) {
		ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
		ALLO_DEFER(scratch_done) struct scratch scratch;
		struct allo_error err = { 0 };
		const char *path;

		scratch_init(&scratch);
		path = scratch_write(&scratch, "large", "x\n", 2);
		assert_int_equal(truncate(path, 65 << 20), 0);
		assert_true(allo_input_open(&in, path, NULL, &err));
		assert_true(allo_input_line(&in, &line, &err));
		assert_false(i ? allo_input_line(&in, &line, &err)
			       : allo_input_lines(&in, &line, &err));
		assert_int_equal(err.code, ALLO_LIMIT);
		assert_int_equal(err.pos.line, 2);
		assert_int_equal(err.pos.byte, 1);
	}
}

static void a_line_of_40_mib_is_held(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };
	struct allo_text line;
	const char *path;

	(void)state;
	scratch_init(&scratch);
	path = scratch_write(&scratch, "large", "x", 1);
	assert_int_equal(truncate(path, 40 << 20), 0);
	assert_true(allo_input_open(&in, path, NULL, &err));
	assert_true(allo_input_line(&in, &line, &err));
	assert_int_equal(line.len, 40 << 20);
}

static void asking_for_more_than_there_is_gives_what_there_is(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_input_open_memory(&in, "m", "abc", 3, &err));
	assert_true(allo_input_want(&in, 1000, &err));
	assert_int_equal(allo_input_unread(&in), 3);
}

/* Packing. */

static void assert_reads_as(struct bytes packed, const char *text)
{
	ALLO_DEFER(way_done) struct way way = { 0 };
	struct allo_error err = { 0 };
	struct allo_text all;

	assert_true(way_open(&way, FROM_MEMORY, packed, &err));
	assert_true(allo_input_all(&way.in, &all, &err));
	assert_text_equal(all, text);
}

static void members_and_frames_may_follow_each_other(void **state)
{
	const char zeros[600] = { 0 };

	(void)state;
	assert_reads_as(join(gzip("ab", 2), join(gzip("", 0), gzip("c", 1))), "abc");
	assert_reads_as(join(zstd("ab", 2), join(zstd("", 0), zstd("c", 1))), "abc");
	assert_reads_as(join(gzip("ab", 2), pack(AS_IS, zeros, sizeof(zeros))), "ab");
}

static void assert_refused(struct bytes packed, enum allo_code code)
{
	ALLO_DEFER(way_done) struct way way = { 0 };
	struct allo_error err = { 0 };
	struct allo_text all;

	if (way_open(&way, FROM_MEMORY, packed, &err))
		assert_false(allo_input_all(&way.in, &all, &err));
	assert_int_equal(err.code, code);
	assert_int_equal(err.pos.line, 0);
	assert_in_range(err.pos.byte, 1, packed.len + 1);
}

static void what_is_cut_off_anywhere_is_refused(void **state)
{
	ALLO_DEFER(bytes_done) struct bytes packed = { 0 };
	uint64_t seed = 9;
	char text[3000];

	(void)state;
	draw_text(&seed, text, sizeof(text));
	packed = gzip(text, sizeof(text));
	for (size_t len = 2; len < packed.len; len++)
		assert_refused(pack(AS_IS, packed.data, len), ALLO_FORMAT);
	bytes_done(&packed);
	packed = zstd(text, sizeof(text));
	for (size_t len = 4; len < packed.len; len++)
		assert_refused(pack(AS_IS, packed.data, len), ALLO_FORMAT);
}

/* All that may come of a flipped bit: a refusal, or a bit that nothing depends on. */
static void assert_damage_is_seen(struct bytes packed, size_t magic, const char *text, size_t len)
{
	for (size_t bit = magic * 8; bit < packed.len * 8; bit++) {
		ALLO_DEFER(way_done) struct way way = { 0 };
		struct bytes damaged = pack(AS_IS, packed.data, packed.len);
		struct allo_error err = { 0 };
		struct allo_text all;

		damaged.data[bit / 8] ^= (char)(1 << bit % 8);
		if (!way_open(&way, FROM_MEMORY, damaged, &err) ||
		    !allo_input_all(&way.in, &all, &err)) {
			assert_true(allo_failed(&err));
			continue;
		}
		assert_int_equal(all.len, len);
		assert_memory_equal(all.data, text, len);
	}
	bytes_done(&packed);
}

static void damage_is_seen(void **state)
{
	uint64_t seed = 11;
	char text[500];

	(void)state;
	draw_text(&seed, text, sizeof(text));
	assert_damage_is_seen(gzip(text, sizeof(text)), 2, text, sizeof(text));
	assert_damage_is_seen(zstd(text, sizeof(text)), 4, text, sizeof(text));
}

static void what_follows_packed_data_must_be_packed_too(void **state)
{
	(void)state;
	assert_refused(join(gzip("ab", 2), pack(AS_IS, "more", 4)), ALLO_FORMAT);
	assert_refused(join(zstd("ab", 2), pack(AS_IS, "more", 4)), ALLO_FORMAT);
}

/* 70 MiB of lines in less than 640 KiB. */
static void a_bomb_is_refused_however_it_is_read(void **state)
{
	ALLO_DEFER(bytes_done) struct bytes bomb = { 0 };
	char lines[1 << 16];

	(void)state;
	for (size_t i = 0; i < sizeof(lines); i++)
		lines[i] = "main 1\n\n"[i % 8];
	bomb = gzip_repeated(lines, sizeof(lines), 70 << 4);
	assert_true(bomb.len < 640 << 10);
	for (int way_to_read = 0; way_to_read < 2; way_to_read++) {
		ALLO_DEFER(way_done) struct way way = { 0 };
		struct allo_error err = { 0 };
		struct allo_text got;
		uint64_t len = 0;

		assert_true(way_open(&way, FROM_FILE, pack(AS_IS, bomb.data, bomb.len), &err));
		if (way_to_read == 0) {
			while (allo_input_lines(&way.in, &got, &err))
				len += got.len;
			assert_in_range(len, 63 << 20, 64 << 20);
		} else {
			assert_false(allo_input_all(&way.in, &got, &err));
		}
		assert_int_equal(err.code, ALLO_LIMIT);
		assert_non_null(strstr(err.hint, "unpack it first"));
	}
}

static void what_is_larger_than_2_gib_is_not_taken_as_one_piece(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };
	struct allo_text all;
	const char *path;

	(void)state;
	scratch_init(&scratch);
	path = scratch_write(&scratch, "large", "x", 1);
	assert_int_equal(truncate(path, (off_t)3 << 30), 0);
	assert_true(allo_input_open(&in, path, NULL, &err));
	assert_false(allo_input_all(&in, &all, &err));
	assert_int_equal(err.code, ALLO_LIMIT);
	assert_non_null(strstr(err.hint, "2 GiB"));
}

/* Giving back. */

static void what_is_given_back_is_read_again(void **state)
{
	(void)state;
	for (int source = 0; source < SOURCES; source++) {
		ALLO_DEFER(way_done) struct way way = { 0 };
		struct allo_error err = { 0 };
		struct allo_offset place = { 0 };
		struct allo_text line;
		char text[] = "first\nsecond\nthird\n", taken[100];
		size_t len;

		assert_true(
			way_open(&way, (enum source)source, pack(AS_IS, text, strlen(text)), &err));
		len = allo_input_take(&way.in, taken, 15, &err); /* within "third" */
		assert_int_equal(len, 15);
		allo_offset_advance(&place, (struct allo_text){ taken, 6 });
		assert_true(allo_input_give_back(&way.in, (struct allo_text){ taken + 6, len - 6 },
						 place, &err));
		assert_true(allo_input_line(&way.in, &line, &err));
		assert_text_equal(line, "second");
		assert_int_equal(allo_input_pos(&way.in).line, 3);
		assert_true(allo_input_line(&way.in, &line, &err));
		assert_text_equal(line, "third");
		assert_false(allo_input_line(&way.in, &line, &err));
		assert_false(allo_failed(&err));
	}
}

static void more_than_a_window_can_be_given_back(void **state)
{
	enum { LEN = 900000 };
	ALLO_DEFER(way_done) struct way way = { 0 };
	ALLO_DEFER(bytes_done) struct bytes text = { malloc(LEN), LEN }, taken = { malloc(LEN), 0 };
	struct allo_error err = { 0 };
	struct allo_text all;
	uint64_t seed = 5;

	(void)state;
	draw_text(&seed, text.data, LEN);
	assert_true(way_open(&way, FROM_FILE, pack(AS_IS, text.data, LEN), &err));
	while (taken.len < 800000)
		taken.len += allo_input_take(&way.in, taken.data + taken.len, 800000 - taken.len,
					     &err);
	assert_true(allo_input_give_back(&way.in, (struct allo_text){ taken.data, taken.len },
					 (struct allo_offset){ 0 }, &err));
	assert_true(allo_input_all(&way.in, &all, &err));
	assert_int_equal(all.len, LEN);
	assert_memory_equal(all.data, text.data, LEN);
}

/* The last of something. */

static void the_last_needle_is_found_at_every_place(void **state)
{
	enum { LEN = 600000, WINDOW = 256 << 10 };
	const long near[] = { 0, 1, 100, WINDOW, 2 * WINDOW, LEN - 8 };
	struct allo_text needle = ALLO_TEXT("\"needle\"");
	char *text = malloc(LEN);

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(near) / sizeof(*near); i++) {
		for (long offset = -9; offset <= 9; offset++) {
			/* From the end, blocks have other borders than from the start. */
			long at = i % 2 ? near[i / 2] + offset : LEN - near[i / 2] + offset;
			ALLO_DEFER(way_done) struct way way = { 0 };
			ALLO_DEFER(allo_input_close) struct allo_input found = { .fd = -1 };
			struct allo_error err = { 0 };

			if (at < 10 || at > LEN - 8)
				continue;
			memset(text, 'x', LEN);
			memcpy(text, "\"needle\"", 8);
			memcpy(text + at, needle.data, 8);
			assert_true(way_open(&way, FROM_FILE, pack(AS_IS, text, LEN), &err));
			assert_true(allo_input_open_at_last(&way.in, needle, &found, &err));
			assert_int_equal(allo_input_offset(&found).offset, at);
			assert_memory_equal(found.next, needle.data, 8);
			assert_int_equal(allo_input_offset(&way.in).offset, 0);
		}
	}
	free(text);
}

static void where_the_last_cannot_be_had_that_is_no_failure(void **state)
{
	(void)state;
	for (int source = 0; source < SOURCES; source++) {
		for (int packed = 0; packed < PACKINGS; packed++) {
			ALLO_DEFER(way_done) struct way way = { 0 };
			ALLO_DEFER(allo_input_close) struct allo_input found = { .fd = -1 };
			ALLO_DEFER(allo_input_close) struct allo_input none = { .fd = -1 };
			bool is_there = packed == AS_IS && source != FROM_PIPE;
			struct allo_error err = { 0 };

			assert_true(way_open(&way, (enum source)source,
					     pack((enum packed)packed, "xx ab yy", 8), &err));
			assert_int_equal(
				allo_input_open_at_last(&way.in, ALLO_TEXT("ab"), &found, &err),
				is_there);
			assert_false(
				allo_input_open_at_last(&way.in, ALLO_TEXT("cd"), &none, &err));
			assert_false(allo_failed(&err));
		}
	}
}

/* Files. */

static void a_file_that_shrinks_is_a_failure(void **state)
{
	(void)state;
	for (int i = 0; i < GATHERS; i++) {
		ALLO_DEFER(bytes_done) struct bytes text = { calloc(1, 2 << 20), 2 << 20 };
		ALLO_DEFER(bytes_done) struct bytes got = { malloc(3 << 20), 0 };
		ALLO_DEFER(way_done) struct way way = { 0 };
		struct allo_error err = { 0 };

		memset(text.data, '\n', text.len);
		assert_true(way_open(&way, FROM_FILE, pack(AS_IS, text.data, text.len), &err));
		assert_int_equal(truncate(way.path, 1 << 20), 0);
		assert_false(gathers[i](&way.in, &got, &err));
		assert_int_equal(err.code, ALLO_IO);
		assert_non_null(strstr(err.message, "became shorter"));
	}
}

static void a_file_that_grows_is_read_to_its_new_end(void **state)
{
	ALLO_DEFER(bytes_done) struct bytes text = { calloc(1, 2 << 20), 2 << 20 };
	ALLO_DEFER(way_done) struct way way = { 0 };
	struct allo_error err = { 0 };
	struct allo_text all;

	(void)state;
	assert_true(way_open(&way, FROM_FILE, pack(AS_IS, text.data, text.len), &err));
	assert_int_equal(truncate(way.path, 5 << 20), 0);
	assert_true(allo_input_all(&way.in, &all, &err));
	assert_int_equal(all.len, 5 << 20);
}

static void what_is_no_file_is_named(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input folder = { .fd = -1 };
	ALLO_DEFER(allo_input_close) struct allo_input missing = { .fd = -1 };
	struct allo_error err = { 0 }, err2 = { 0 };

	(void)state;
	assert_false(allo_input_open(&folder, "/", NULL, &err));
	assert_int_equal(err.code, ALLO_IO);
	assert_string_equal(err.pos.file, "/");
	assert_false(allo_input_open(&missing, "/does/not/exist", NULL, &err2));
	assert_int_equal(err2.code, ALLO_IO);
	assert_string_equal(err2.pos.file, "/does/not/exist");
}

static void standard_input_is_read_from_where_it_stands(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(scratch_done) struct scratch scratch;
	int fd, saved = dup(STDIN_FILENO);
	struct allo_error err = { 0 };
	struct allo_text all;

	(void)state;
	scratch_init(&scratch);
	fd = open(scratch_write(&scratch, "in", "before after", 12), O_RDONLY);
	assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
	dup2(fd, STDIN_FILENO);
	close(fd);
	assert_true(allo_input_open(&in, "-", NULL, &err));
	assert_true(allo_input_all(&in, &all, &err));
	assert_text_equal(all, "after");
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void count_progress(void *context, uint64_t done, uint64_t total)
{
	uint64_t *last = context;

	assert_true(done >= *last);
	assert_int_equal(total, 1000);
	*last = done;
}

static void progress_is_told_to_the_end(void **state)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(scratch_done) struct scratch scratch;
	char text[1000] = { 0 };
	uint64_t last = 0;
	struct allo_progress progress = { count_progress, &last };
	struct allo_error err = { 0 };
	struct allo_text all;

	(void)state;
	scratch_init(&scratch);
	assert_true(allo_input_open(&in, scratch_write(&scratch, "f", text, sizeof(text)),
				    &progress, &err));
	assert_true(allo_input_all(&in, &all, &err));
	assert_int_equal(last, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_in_gives_the_same_bytes),
		cmocka_unit_test(lines_lose_their_ends_and_nothing_else),
		cmocka_unit_test(the_last_lines_need_no_newline),
		cmocka_unit_test(positions_are_lines_or_bytes),
		cmocka_unit_test(counted_lines_need_not_be_counted_again),
		cmocka_unit_test(a_line_of_more_than_64_mib_is_refused),
		cmocka_unit_test(a_line_of_40_mib_is_held),
		cmocka_unit_test(asking_for_more_than_there_is_gives_what_there_is),
		cmocka_unit_test(members_and_frames_may_follow_each_other),
		cmocka_unit_test(what_is_cut_off_anywhere_is_refused),
		cmocka_unit_test(damage_is_seen),
		cmocka_unit_test(what_follows_packed_data_must_be_packed_too),
		cmocka_unit_test(a_bomb_is_refused_however_it_is_read),
		cmocka_unit_test(what_is_larger_than_2_gib_is_not_taken_as_one_piece),
		cmocka_unit_test(what_is_given_back_is_read_again),
		cmocka_unit_test(more_than_a_window_can_be_given_back),
		cmocka_unit_test(the_last_needle_is_found_at_every_place),
		cmocka_unit_test(where_the_last_cannot_be_had_that_is_no_failure),
		cmocka_unit_test(a_file_that_shrinks_is_a_failure),
		cmocka_unit_test(a_file_that_grows_is_read_to_its_new_end),
		cmocka_unit_test(what_is_no_file_is_named),
		cmocka_unit_test(standard_input_is_read_from_where_it_stands),
		cmocka_unit_test(progress_is_told_to_the_end),
	};

	return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
