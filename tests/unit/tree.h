/*
 * tree.h - a folder with files of the kernel's in it, as some machine has them.
 */
#ifndef ALLO_TESTS_TREE_H
#define ALLO_TESTS_TREE_H

#include "check.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
	char root[64];
};

/* Writes a file of the tree; makes its folders and replaces an existing file. */
static inline void tree_add(const struct tree *tree, const char *path, const char *content)
{
	char whole[1200];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", tree->root, path);
	for (char *slash = strchr(whole + strlen(tree->root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline int tree_remove_one(const char *path, const struct stat *status, int kind,
				  struct FTW *where)
{
	(void)status, (void)kind, (void)where;
	return remove(path);
}

static inline int tree_begin(void **state)
{
	static struct tree tree;

	tree = (struct tree){ "/tmp/allo-unit-XXXXXX" };
	assert_non_null(mkdtemp(tree.root));
	*state = &tree;
	return 0;
}

static inline int tree_end(void **state)
{
	const struct tree *tree = *state;

	nftw(tree->root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, tree_begin, tree_end)

#endif
