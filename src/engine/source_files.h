/*
 * source_files.h - finds and reads the source files of a program.
 *
 * Paths come from profiles and may be anything: only regular files of up to 64 MiB are read.
 */
#ifndef ALLO_ENGINE_SOURCE_FILES_H
#define ALLO_ENGINE_SOURCE_FILES_H

#include "base/list.h"
#include "base/text.h"
#include "base/vec.h"

/* Places to search, in this order; the recorded path itself is the last one. */
struct allo_source_places {
	const struct allo_list *substitutes; /* FROM=TO: replaces a prefix of recorded paths */
	const struct allo_list *folders;     /* hold the path, or an end of it */
	const char *more_folders;            /* the same, separated by ':'; may be NULL */
	bool only_these;                     /* nothing outside of these places is read */
};

/* All zeros: nothing was found. */
struct allo_source_file {
	char *path;         /* where it is; NULL: not found */
	int64_t changed_ns; /* since 1970 */
	bool is_too_large;  /* found, but not read */

	/* Private. */
	char *bytes;
	ALLO_VEC(struct allo_text) lines;
};

/* Checks the values of --substitute. */
bool allo_source_places_check(const struct allo_source_places *places, struct allo_error *err);

/* False only when memory is short; `path` is NULL if there is no such file. */
bool allo_source_file_find(struct allo_source_file *file, const struct allo_source_places *places,
			   struct allo_text recorded, struct allo_error *err);

void allo_source_file_done(struct allo_source_file *file);

/* A line, from 1, without its end; empty, and *is_there false, beyond the last one. */
struct allo_text allo_source_file_line(const struct allo_source_file *file, uint64_t line,
				       bool *is_there);

#endif
