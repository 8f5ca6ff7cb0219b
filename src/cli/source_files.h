/*
 * source_files.h - the sources of a program, as far as they can be found.
 *
 * Paths come from profiles and may be anything: only regular files of a bearable size are read.
 */
#ifndef ALLO_CLI_SOURCE_FILES_H
#define ALLO_CLI_SOURCE_FILES_H

#include "base/text.h"
#include "base/vec.h"
#include "cli/command.h"

/* Where to look, in this order. */
struct allo_source_places {
	const struct allo_list *substitutes; /* FROM=TO: another beginning for recorded paths */
	const struct allo_list *folders; /* the path, or as much of its end as is there, in these */
	const char *more_folders;        /* the same, with ':' between them; may be NULL */
};

/* All zeros: nothing was found. */
struct allo_source_file {
	char *path;         /* where it is; NULL: not found */
	int64_t changed_ns; /* when, since 1970 */
	bool is_too_large;  /* found, but not read */

	/* Private. */
	char *bytes;
	ALLO_VEC(struct allo_text) lines;
};

/* Whether all of --substitute are of that form. */
bool allo_source_places_check(const struct allo_source_places *places, struct allo_error *err);

/* A file that is not there is no failure; lack of memory is. */
bool allo_source_file_find(struct allo_source_file *file, const struct allo_source_places *places,
			   struct allo_text recorded, struct allo_error *err);

void allo_source_file_done(struct allo_source_file *file);

/* A line, from 1, without its end; empty, and *is_there false, beyond the last one. */
struct allo_text allo_source_file_line(const struct allo_source_file *file, uint64_t line,
				       bool *is_there);

#endif
