/*
 * merge.c - merges profiles, such as those of several servers.
 *
 *     merge OUTPUT INPUT...
 */
#include <allotrope.h>

#include <stdio.h>

int main(int argc, char **argv)
{
	struct allotrope_error err = { 0 };
	struct allotrope_write_options options = { .replace = true };
	struct allotrope_profile *all = allotrope_profile_new(&err);
	char why[512];

	for (int i = 2; i < argc; i++) {
		struct allotrope_profile *one = allotrope_read_file(argv[i], NULL, &err);

		allotrope_merge(all, one, &err);
		allotrope_profile_free(one);
	}
	if (argc < 3 || !allotrope_write_file(all, argv[1], &options, &err)) {
		allotrope_error_text(&err, why, sizeof(why));
		fprintf(stderr, "merge: %s\n", argc < 3 ? "usage: merge OUTPUT INPUT..." : why);
	}
	allotrope_profile_free(all);
	return argc < 3 ? 2 : err.code == ALLOTROPE_OK ? 0 : 1;
}
