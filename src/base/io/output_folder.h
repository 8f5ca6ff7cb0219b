/*
 * output_folder.h - a folder of files that appears when all of them are complete, or not at all.
 *
 *     allo_output_folder_open(&folder, path, &options, err);
 *     allo_output_folder_add(&folder, &out, "one.csv", err);     any number of files
 *     allo_output_finish(&out, err);
 *     allo_output_folder_finish(&folder, err);
 *     allo_output_folder_drop(&folder);                          in any case, after the outputs
 *
 * Until then, the files have no names (O_TMPFILE): a process that is killed leaves nothing behind.
 * Where the file system needs names, they are in a folder with a temporary name.
 */
#ifndef ALLO_BASE_OUTPUT_FOLDER_H
#define ALLO_BASE_OUTPUT_FOLDER_H

#include "base/io/output.h"

/* All zeros: nothing to drop. */
struct allo_output_folder {
	uint64_t size; /* bytes in all files, once finished */

	/* Private from here on. */
	const char *name;
	char *target;    /* the name without '/' at its end */
	char *temporary; /* of the folder until it is complete */
	bool is_made;    /* the folder with the temporary name */
	bool may_replace;
	const char *const *names;
	unsigned mode; /* of the files, before umask */
	ALLO_VEC(struct allo_output_part) parts;
};

struct allo_output_part {
	int fd;
	const char *name;
};

/* Names it; `path` must stay.  `names` (NULL ends) has all files that it may contain: with
 * options->replace, an existing folder is replaced if it has no others. */
bool allo_output_folder_open(struct allo_output_folder *folder, const char *path,
			     const struct allo_output_options *options, const char *const *names,
			     struct allo_error *err);

/* Opens a file in it; `name` must stay. */
bool allo_output_folder_add(struct allo_output_folder *folder, struct allo_output *out,
			    const char *name, struct allo_error *err);

/* Gives the folder and its files their names. */
bool allo_output_folder_finish(struct allo_output_folder *folder, struct allo_error *err);

/* Removes what is not finished. */
void allo_output_folder_drop(struct allo_output_folder *folder);

#endif
