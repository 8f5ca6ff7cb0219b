/*
 * writers.h - all formats that can be written.
 */
#ifndef ALLO_WRITERS_WRITERS_H
#define ALLO_WRITERS_WRITERS_H

#include "writers/writer.h"

/* Ends with NULL; in alphabetical order. */
extern const struct allo_writer *const allo_writers[];

/* By name; NULL, and a failure that lists the names, when there is none. */
const struct allo_writer *allo_writer_find(const char *name, struct allo_error *err);

/* By a file's name, packing endings (.gz, .zst) aside: the writer whose ending is the longest that
 * fits; NULL when none does. */
const struct allo_writer *allo_writer_find_by_path(const char *path);

/* By the beginning of a file: a writer of a format that allo cannot read, by its marks; NULL when
 * none fits. */
const struct allo_writer *allo_writer_find_by_content(struct allo_text head);

/* Whether a form has this version; 0 is the usual one, which all have. */
bool allo_writer_has_version(const struct allo_writer *writer, uint64_t version,
			     struct allo_error *err);

/* How a file of this name is to be packed when this writer writes it. */
enum allo_packing allo_writer_packing(const struct allo_writer *writer, const char *path);

/* Writes a whole profile.  `options` may be NULL; `notes` gets what happened to numbers, unless
 * NULL. */
bool allo_write(const struct allo_writer *writer, const struct allo_profile *profile,
		const struct allo_write_options *options, struct allo_output *out,
		struct allo_notes *notes, struct allo_error *err);

/* What a profile has of the things that formats differ in. */
unsigned allo_profile_holds(const struct allo_profile *profile);

/* Names of what is in `holds`, one after the other: "lines, labels"; empty when nothing is. */
void allo_holds_names(unsigned holds, char *out, size_t room);

#endif
