/*
 * scratch.h - a folder for the files of one test.
 */
#ifndef ALLO_TESTS_SCRATCH_H
#define ALLO_TESTS_SCRATCH_H

#include "check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct scratch {
	char folder[64];
	char path[8][320]; /* the results of scratch_path(), used in turn */
	unsigned used;
};

static inline void scratch_init(struct scratch *scratch)
{
	*scratch = (struct scratch){ .folder = "/tmp/allo-unit-XXXXXX" };
	assert_non_null(mkdtemp(scratch->folder));
}

static inline const char *scratch_path(struct scratch *scratch, const char *name)
{
	char *path = scratch->path[scratch->used++ % 8];

	assert_true(strlen(scratch->folder) + 1 + strlen(name) < sizeof(scratch->path[0]));
	strcpy(stpcpy(stpcpy(path, scratch->folder), "/"), name);
	return path;
}

/* Files in the folder. */
static inline unsigned scratch_count(const struct scratch *scratch)
{
	DIR *folder = opendir(scratch->folder);
	const struct dirent *entry;
	unsigned count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

static inline const char *scratch_write(struct scratch *scratch, const char *name, const void *data,
					size_t len)
{
	const char *path = scratch_path(scratch, name);
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* All of a file, to be freed. */
static inline char *scratch_read(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	char *data;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*len = (size_t)ftell(file);
	rewind(file);
	data = malloc(*len + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *len, file), *len);
	data[*len] = '\0';
	fclose(file);
	return data;
}

static inline void scratch_done(struct scratch *scratch)
{
	DIR *folder = opendir(scratch->folder);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)) != NULL)
		unlink(scratch_path(scratch, entry->d_name));
	if (folder)
		closedir(folder);
	rmdir(scratch->folder);
}

/* A scratch folder as each test's state. */
static inline int scratch_begin(void **state)
{
	static struct scratch scratch;

	scratch_init(&scratch);
	*state = &scratch;
	return 0;
}

static inline int scratch_end(void **state)
{
	scratch_done(*state);
	return 0;
}

#define SCRATCH_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_begin, scratch_end)

#endif
