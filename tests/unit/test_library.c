/* test_library.c - liballotrope: reading, writing, failures. */
#include "check_library.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char folded[] = "main;parse 3\nmain 4\n";

/* A folder of the test's own. */
static int make_folder(void **state)
{
	char *folder = strdup("/tmp/allo-test-XXXXXX");

	*state = folder;
	return folder && mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int drop_folder(void **state)
{
	char command[64];
	int status;

	snprintf(command, sizeof(command), "rm -r %s", (char *)*state);
	status = chdir("/") == 0 ? system(command) : -1;
	free(*state);
	return status;
}

static void put_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static size_t get_file(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY);
	ssize_t got = read(fd, out, room);

	close(fd);
	return got < 0 ? 0 : (size_t)got;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void check_folded(struct allotrope_profile *profile)
{
	struct allotrope_metric metric;

	assert_int_equal(allotrope_sample_count(profile), 2);
	assert_calls(profile, 0, "parse main");
	assert_calls(profile, 1, "main");
	assert_int_equal(value_of(profile, 0, 0), 3);
	assert_int_equal(allotrope_sum(profile, 0), 7);
	assert_true(allotrope_get_metric(profile, 0, &metric));
	assert_string_equal(metric.name, "samples");
	assert_string_equal(metric.unit, "count");
	/* Folded stacks do not name the sampled resource; the samples of pprof are CPU time. */
	assert_true(strcmp(metric.meaning, "") == 0 || strcmp(metric.meaning, "samples") == 0);
	free_valid(profile);
}

static void a_format_is_found_by_its_content(void **state)
{
	struct allotrope_meta meta;
	struct allotrope_profile *profile = profile_of(folded);

	(void)state;
	assert_true(allotrope_get_meta(profile, &meta));
	assert_string_equal(meta.format, "folded");
	assert_string_equal(meta.command, "");
	check_folded(profile);
}

static void files_and_descriptors_are_read_like_memory(void **state)
{
	struct allotrope_profile *profile = NULL;
	char byte;
	int fd;

	(void)state;
	put_file("a.folded", folded, strlen(folded));
	assert_works((profile = allotrope_read_file("a.folded", NULL, &err)));
	check_folded(profile);
	put_file("b.folded", "#main;parse 3\nmain 4\n", strlen(folded) + 1);
	fd = open("b.folded", O_RDONLY);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_works((profile = allotrope_read_fd(fd, "b", NULL, &err)));
	check_folded(profile);          /* from where the descriptor stood */
	assert_int_equal(close(fd), 0); /* which was left open */
}

static void a_pipe_can_be_read(void **state)
{
	struct allotrope_profile *profile = NULL;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], folded, strlen(folded)), strlen(folded));
	close(ends[1]);
	assert_works((profile = allotrope_read_fd(ends[0], NULL, NULL, &err)));
	check_folded(profile);
	close(ends[0]);
}

static void a_dash_is_a_file_like_others(void **state)
{
	struct allotrope_write_options options = { .to = "pprof" };
	struct allotrope_profile *profile = NULL;

	(void)state;
	assert_works((profile = allotrope_read_file("a.folded", NULL, &err)));
	assert_works(allotrope_write_file(profile, "-", &options, &err));
	free_valid(profile);
	assert_true(is_there("./-"));
	assert_works((profile = allotrope_read_file("-", NULL, &err)));
	check_folded(profile);
}

static void the_heap_over_time_is_kept_when_asked_for(void **state)
{
	static const char massif[] =
		"desc: (none)\ncmd: p\ntime_unit: i\n#-\nsnapshot=0\n#-\ntime=17\nmem_heap_B=5\n"
		"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\nn1: 5 all\n n0: 5 0x1: f (a.c:1)\n";
	struct allotrope_read_options options = { 0 };
	struct allotrope_write_options form = { .to = "massif" };

	(void)state;
	for (int keeps = 0; keeps < 2; keeps++) {
		struct allotrope_profile *profile;
		char *text;
		size_t len;

		options.keep_history = keeps;
		assert_works((profile = allotrope_read_memory(massif, strlen(massif), NULL,
							      &options, &err)));
		assert_works((text = allotrope_write_memory(profile, &form, &len, &err)));
		/* Otherwise a start is made up. */
		assert_true((memmem(text, len, "time=0\n", 7) != NULL) == !keeps);
		assert_non_null(memmem(text, len, "time=17\n", 8));
		allotrope_free(text);
		free_valid(profile);
	}
}

static void a_failure_says_where_and_what(void **state)
{
	static const char broken[] = "main;parse\nmain;other\nmain\n";
	struct allotrope_error err = { 0 };
	char text[256];
	size_t len;

	(void)state;
	assert_null(allotrope_read_memory(broken, strlen(broken), "app.folded",
					  &(struct allotrope_read_options){ .from = "folded" },
					  &err));
	assert_int_equal(err.code, ALLOTROPE_FORMAT);
	assert_string_equal(err.file, "app.folded");
	assert_int_equal(err.line, 1);
	assert_int_equal(err.byte, 1);
	len = allotrope_error_text(&err, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_memory_equal(text, "app.folded:1:1: expected ", 25);
	assert_int_equal(allotrope_error_text(&err, text, 4), len);
	assert_string_equal(text, "app");
}

static void the_first_failure_stays(void **state)
{
	struct allotrope_profile *profile = profile_of(folded);
	struct allotrope_error err = { 0 };

	(void)state;
	assert_null(allotrope_read_file("/nowhere/at/all", NULL, &err));
	assert_int_equal(err.code, ALLOTROPE_IO);
	assert_string_equal(err.file, "/nowhere/at/all");
	/* All of these would work by themselves. */
	assert_int_equal(allotrope_add_metric(profile, "alloc_bytes", NULL, &err), -1);
	assert_false(allotrope_write_file(profile, "never.pb", NULL, &err));
	assert_null(allotrope_profile_new(&err));
	assert_int_equal(err.code, ALLOTROPE_IO);
	assert_string_equal(err.file, "/nowhere/at/all");
	assert_int_equal(allotrope_metric_count(profile), 1);
	assert_false(is_there("never.pb"));
	free_valid(profile);
}

static void the_end_of_a_long_name_is_kept(void **state)
{
	struct allotrope_error err = { 0 };
	char path[1000];

	(void)state;
	memset(path, 'x', sizeof(path));
	memcpy(path + sizeof(path) - 9, "the.file", 9);
	assert_null(allotrope_read_file(path, NULL, &err));
	assert_int_equal(strlen(err.file), sizeof(err.file) - 1);
	assert_memory_equal(err.file, "...xxx", 6);
	assert_string_equal(err.file + strlen(err.file) - 8, "the.file");
}

static void count_calls(void *context, uint64_t done, uint64_t total)
{
	uint64_t *last = context;

	assert_int_equal(total, strlen(folded));
	*last = done;
}

static void progress_is_told_up_to_the_end(void **state)
{
	uint64_t last = 0;
	struct allotrope_read_options options = { .progress = count_calls, .context = &last };

	(void)state;
	put_file("a.folded", folded, strlen(folded));
	allotrope_profile_free(allotrope_read_file("a.folded", &options, NULL));
	assert_int_equal(last, strlen(folded));
}

static void what_is_odd_is_noted(void **state)
{
	struct allotrope_profile *profile = profile_of("ok 1\nb\xff"
						       "d 2\n");
	struct allotrope_note note;

	(void)state;
	assert_int_equal(allotrope_note_count(profile), 1);
	assert_true(allotrope_get_note(profile, 0, &note));
	assert_string_equal(note.name, "bad-utf8");
	assert_int_equal(note.count, 1);
	assert_int_equal(note.line, 2);
	assert_true(note.is_problem);
	assert_false(allotrope_get_note(profile, 1, &note));
	free_valid(profile);
}

static void formats_are_listed_once_each(void **state)
{
	struct allotrope_format format, before = { .name = "" };
	bool has_pprof = false;
	size_t i;

	(void)state;
	for (i = 0; allotrope_get_format(i, &format); i++) {
		assert_true(strcmp(before.name, format.name) < 0);
		assert_true(format.can_read || format.can_write);
		assert_true(format.title[0] != '\0');
		if (strcmp(format.name, "pprof") == 0) {
			has_pprof = format.can_read && format.can_write;
			assert_string_equal(format.endings, ".pb.gz .pprof .pb");
		}
		before = format;
	}
	assert_int_equal(i, allotrope_format_count());
	assert_true(has_pprof);
}

static void a_file_is_replaced_only_if_asked_for(void **state)
{
	struct allotrope_write_options replace = { .replace = true };
	struct allotrope_profile *profile = profile_of(folded);
	struct allotrope_error refused = { 0 };
	char content[64];

	(void)state;
	put_file("old.pb", "precious", 8);
	assert_false(allotrope_write_file(profile, "old.pb", NULL, &refused));
	assert_int_equal(refused.code, ALLOTROPE_USAGE);
	assert_non_null(strstr(refused.hint, "replace"));
	assert_int_equal(get_file("old.pb", content, sizeof(content)), 8);
	assert_works(allotrope_write_file(profile, "old.pb", &replace, &err));
	free_valid(profile);
	assert_works((profile = allotrope_read_file("old.pb", NULL, &err)));
	check_folded(profile);
}

static void packing_follows_the_name_or_the_options(void **state)
{
	static const struct {
		const char *path, *packing, *magic;
	} cases[] = {
		{ "p.pb.gz", NULL, "\x1f\x8b" },    { "p.pprof", NULL, "\x1f\x8b" },
		{ "p.pb", NULL, "\x0a" },           { "p.pb.zst", NULL, "\x28\xb5\x2f\xfd" },
		{ "q.pb.gz", "none", "\x0a" },      { "r.pb", "zstd", "\x28\xb5\x2f\xfd" },
		{ "s.pb.zst", "gzip", "\x1f\x8b" },
	};
	struct allotrope_profile *profile = profile_of(folded), *again = NULL;
	char head[4];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct allotrope_write_options options = { .packing = cases[i].packing };

		assert_works(allotrope_write_file(profile, cases[i].path, &options, &err));
		get_file(cases[i].path, head, sizeof(head));
		assert_memory_equal(head, cases[i].magic, strlen(cases[i].magic));
		assert_works((again = allotrope_read_file(cases[i].path, NULL, &err)));
		check_folded(again);
	}
	free_valid(profile);
}

static void what_cannot_be_written_leaves_no_trace(void **state)
{
	struct allotrope_profile *profile = profile_of(folded);

	(void)state;
	assert_misuse(allotrope_write_file(profile, "what.is.this", NULL, &err));
	assert_misuse(allotrope_write_file(
		profile, "x.pb", &(struct allotrope_write_options){ .to = "nothing" }, &err));
	assert_misuse(allotrope_write_file(
		profile, "x.pb", &(struct allotrope_write_options){ .packing = "rar" }, &err));
	assert_fails(allotrope_write_file(profile, "no/such/folder.pb", NULL, &err), ALLOTROPE_IO);
	assert_false(is_there("what.is.this") || is_there("x.pb"));
	free_valid(profile);
}

static void descriptors_and_memory_are_written_like_files(void **state)
{
	struct allotrope_write_options options = { .to = "pprof", .packing = "none" };
	struct allotrope_profile *profile = profile_of(folded), *again = NULL;
	char file[512], fd_file[512], *memory = NULL;
	size_t len = 0;
	int fd = open("fd.pb", O_WRONLY | O_CREAT, 0666);

	(void)state;
	assert_works((memory = allotrope_write_memory(profile, &options, &len, &err)));
	assert_int_equal(memory[len], '\0');
	assert_works(allotrope_write_fd(profile, fd, NULL, &options, &err));
	assert_int_equal(close(fd), 0);
	assert_works(allotrope_write_file(profile, "file.pb", NULL, &err));
	assert_int_equal(get_file("file.pb", file, sizeof(file)), len);
	assert_int_equal(get_file("fd.pb", fd_file, sizeof(fd_file)), len);
	assert_memory_equal(memory, file, len);
	assert_memory_equal(memory, fd_file, len);
	assert_works((again = allotrope_read_memory(memory, len, NULL, NULL, &err)));
	check_folded(again);
	allotrope_free(memory);
	free_valid(profile);
}

static void a_full_disk_is_noticed(void **state)
{
	struct allotrope_write_options options = { .to = "pprof" };
	struct allotrope_profile *profile = profile_of(folded);
	int fd = open("/dev/full", O_WRONLY);

	(void)state;
	assert_fails(allotrope_write_fd(profile, fd, "full", &options, &err), ALLOTROPE_IO);
	assert_fails(allotrope_write_file(profile, "/dev/full", &options, &err), ALLOTROPE_IO);
	close(fd);
	free_valid(profile);
}

static void strict_refuses_losses(void **state)
{
	struct allotrope_write_options options = { .to = "pprof", .strict = true };
	struct allotrope_profile *profile = new_profile();
	const uint64_t value = 1;
	struct allotrope_sample sample = { .values = &value, .value_count = 1, .has_time = true };
	size_t len;
	char *memory = NULL;

	(void)state;
	assert_works(allotrope_add_metric(profile, "alloc_bytes", NULL, &err) == 0);
	assert_works(allotrope_add_sample(profile, &sample, &err));
	assert_fails(allotrope_write_memory(profile, &options, &len, &err), ALLOTROPE_LIMIT);
	options.strict = false;
	assert_works((memory = allotrope_write_memory(profile, &options, &len, &err)));
	allotrope_free(memory);
	free_valid(profile);
}

static void one_call_converts(void **state)
{
	struct allotrope_profile *profile = NULL;

	(void)state;
	put_file("a.folded", folded, strlen(folded));
	assert_works(allotrope_convert("a.folded", "converted.pb.gz", NULL, NULL, &err));
	assert_works((profile = allotrope_read_file("converted.pb.gz", NULL, &err)));
	check_folded(profile);
	assert_misuse(allotrope_convert("a.folded", "converted.pb.gz", NULL, NULL, &err));
	assert_fails(allotrope_convert("missing", "x.pb.gz", NULL, NULL, &err), ALLOTROPE_IO);
}

/* Programs were compiled with these: fields may be added in `reserved` only. */
static void structs_keep_their_sizes(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct allotrope_error), 1024);
	assert_int_equal(sizeof(struct allotrope_format), 64);
	assert_int_equal(sizeof(struct allotrope_read_options), 144);
	assert_int_equal(sizeof(struct allotrope_allocation), 88);
	assert_int_equal(sizeof(struct allotrope_event), 72);
	assert_int_equal(sizeof(struct allotrope_note), 88);
	assert_int_equal(sizeof(struct allotrope_write_options), 64);
	assert_int_equal(sizeof(struct allotrope_meta), 176);
	assert_int_equal(sizeof(struct allotrope_metric), 72);
	assert_int_equal(sizeof(struct allotrope_module), 88);
	assert_int_equal(sizeof(struct allotrope_function), 48);
	assert_int_equal(sizeof(struct allotrope_frame), 40);
	assert_int_equal(sizeof(struct allotrope_line), 16);
	assert_int_equal(sizeof(struct allotrope_call), 72);
	assert_int_equal(sizeof(struct allotrope_label), 48);
	assert_int_equal(sizeof(struct allotrope_thread), 40);
	assert_int_equal(sizeof(struct allotrope_sample), 88);
	assert_int_equal(sizeof(struct allotrope_filter), 72);
	assert_int_equal(sizeof(struct allotrope_top_options), 64);
	assert_int_equal(sizeof(struct allotrope_row), 120);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_format_is_found_by_its_content),
		cmocka_unit_test(files_and_descriptors_are_read_like_memory),
		cmocka_unit_test(a_pipe_can_be_read),
		cmocka_unit_test(a_dash_is_a_file_like_others),
		cmocka_unit_test(the_heap_over_time_is_kept_when_asked_for),
		cmocka_unit_test(a_failure_says_where_and_what),
		cmocka_unit_test(the_first_failure_stays),
		cmocka_unit_test(the_end_of_a_long_name_is_kept),
		cmocka_unit_test(progress_is_told_up_to_the_end),
		cmocka_unit_test(what_is_odd_is_noted),
		cmocka_unit_test(formats_are_listed_once_each),
		cmocka_unit_test(a_file_is_replaced_only_if_asked_for),
		cmocka_unit_test(packing_follows_the_name_or_the_options),
		cmocka_unit_test(what_cannot_be_written_leaves_no_trace),
		cmocka_unit_test(descriptors_and_memory_are_written_like_files),
		cmocka_unit_test(a_full_disk_is_noticed),
		cmocka_unit_test(strict_refuses_losses),
		cmocka_unit_test(one_call_converts),
		cmocka_unit_test(structs_keep_their_sizes),
	};

	return cmocka_run_group_tests_name("library", tests, make_folder, drop_folder);
}
