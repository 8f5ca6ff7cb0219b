/* test_tar.c - readers/rheaper/tar.h. */
#include "check.h"

#include "base/defer.h"
#include "readers/rheaper/tar.h"

#include <stdio.h>

enum { BLOCK = 512 };

/* An archive in the making. */
struct archive {
	char bytes[40 * BLOCK];
	size_t len;
};

static void add(struct archive *archive, char type, const char *name, const char *content,
		size_t len)
{
	char *header = archive->bytes + archive->len;
	unsigned sum = 0;

	memset(header, 0, BLOCK);
	memcpy(header, name, strnlen(name, 100));
	snprintf(header + 124, 12, "%011llo", (unsigned long long)len & 077777777777);
	memcpy(header + 257, "ustar\00000", 8);
	header[156] = type;
	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	archive->len += BLOCK;
	if (content)
		memcpy(archive->bytes + archive->len, content, len);
	archive->len += content ? (len + BLOCK - 1) / BLOCK * BLOCK : 0;
}

static void add_text(struct archive *archive, char type, const char *name, const char *content)
{
	add(archive, type, name, content, strlen(content));
}

/* The paths of all files and what is in them: "a=1 b=22 "; with "!" behind it where it was cut. */
static const char *contents(const struct archive *archive, char out[1000])
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_random_access source = { 0 };
	struct allo_tar tar = { .source = &source };
	struct allo_error err = { 0 };
	size_t used = 0;

	assert_true(allo_input_open_memory(&in, "x.tar", archive->bytes, archive->len, &err));
	assert_true(allo_random_access_open(&source, &in, &err));
	out[0] = '\0';
	while (allo_tar_next(&tar, &err))
		used += (size_t)snprintf(out + used, 1000 - used, "%s=%.*s ", tar.path,
					 (int)tar.size, archive->bytes + tar.offset);
	assert_false(allo_failed(&err));
	snprintf(out + used, 1000 - used, "%s", tar.is_cut ? "!" : "");
	allo_random_access_close(&source);
	return out;
}

static void files_are_listed_and_all_else_is_not(void **state)
{
	struct archive archive = { 0 };
	char out[1000];

	(void)state;
	add_text(&archive, '5', "folder/", "");
	add_text(&archive, '0', "folder/a", "1");
	add_text(&archive, '2', "link", "");
	add_text(&archive, '\0', "b", "22");
	add_text(&archive, 'g', "facts", "18 comment=nothing\n");
	add_text(&archive, '0', "empty", "");
	archive.len += 2 * BLOCK;
	assert_string_equal(contents(&archive, out), "folder/a=1 b=22 empty= ");
	assert_true(allo_is_tar((struct allo_text){ archive.bytes, archive.len }));
	archive.bytes[0]++;
	assert_false(allo_is_tar((struct allo_text){ archive.bytes, archive.len }));
	assert_false(allo_is_tar((struct allo_text){ archive.bytes, BLOCK - 1 }));
}

static void long_paths_stand_in_front(void **state)
{
	struct archive archive = { 0 };
	char out[1000];

	(void)state;
	add_text(&archive, 'L', "././@LongLink", "a/long/path");
	add_text(&archive, '0', "a/long", "1");
	add_text(&archive, 'x', "PaxHeaders/b", "17 path=b/longer\n10 size=2\n12 mtime=0.5\n");
	add(&archive, '0', "b", "22", 0);
	archive.len += BLOCK; /* which the header does not know of */
	memcpy(archive.bytes + archive.len - BLOCK, "22", 2);
	add_text(&archive, '0', "c", "3");
	archive.len += 2 * BLOCK;
	assert_string_equal(contents(&archive, out), "a/long/path=1 b/longer=22 c=3 ");
}

static void an_archive_may_be_cut(void **state)
{
	struct archive archive = { 0 };
	char out[1000];

	(void)state;
	add_text(&archive, '0', "a", "1");
	add_text(&archive, '0', "b", "22");
	archive.len -= BLOCK - 1;
	assert_string_equal(contents(&archive, out), "a=1 b=2 !");
	archive.len = 3 * BLOCK - 1;
	assert_string_equal(contents(&archive, out), "a=1 !");
	archive.len = 2 * BLOCK;
	assert_string_equal(contents(&archive, out), "a=1 !");
}

static void sizes_that_make_no_sense_end_it(void **state)
{
	struct archive archive = { 0 };
	char out[1000];

	(void)state;
	add(&archive, '0', "huge", NULL, (size_t)077777777777);
	assert_string_equal(contents(&archive, out), "huge= !");
	archive.len = 0;
	add_text(&archive, 'x', "facts", "29 size=18446744073709551615\n");
	add_text(&archive, '0', "huger", "");
	assert_string_equal(contents(&archive, out), "huger= !");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_listed_and_all_else_is_not),
		cmocka_unit_test(long_paths_stand_in_front),
		cmocka_unit_test(an_archive_may_be_cut),
		cmocka_unit_test(sizes_that_make_no_sense_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
