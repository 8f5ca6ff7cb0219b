/*
 * writers.h - the table of all output formats.
 */
#ifndef ALLO_WRITERS_WRITERS_H
#define ALLO_WRITERS_WRITERS_H

#include "writers/writer.h"

/* Ends with NULL; in alphabetical order. */
extern const struct allo_writer *const allo_writers[];

/* Finds a writer by name.  Without one, returns NULL and fails with a list of the names. */
const struct allo_writer *allo_writer_find(const char *name, struct allo_error *err);

/* Finds a writer by a file's name, without .gz or .zst: the longest ending that fits wins.  NULL
 * when none fits. */
const struct allo_writer *allo_writer_find_by_path(const char *path);

/* Finds the writer of a file by its first bytes, among the formats that allo cannot read.  NULL
 * when none fits. */
const struct allo_writer *allo_writer_find_by_content(struct allo_text head);

/* Fails with a better message than "unknown" if an input that no reader knows has a format that
 * allo only writes: `from` is the format that was asked for; if NULL, the file begins with `head`.
 * For allo_read_options.explain_unknown. */
void allo_writer_explain_unknown(const char *file, const char *from, struct allo_text head,
				 struct allo_error *err);

/* Whether a format has this version; 0 is the default version, which every format has. */
bool allo_writer_has_version(const struct allo_writer *writer, uint64_t version,
			     struct allo_error *err);

/* The compression for a file of this name. */
enum allo_packing allo_writer_packing(const struct allo_writer *writer, const char *path);

/*
 * Fails if a format that spells out stacks would write far more frames than the profile has: the
 * stacks of a recursion have half the square of its depth, 1.25 billion in one of 50,000 calls.
 */
bool allo_writer_check_stacks(const struct allo_writer *writer, const struct allo_profile *profile,
			      struct allo_error *err);

/* Writes a whole profile.  `options` may be NULL.  `notes`, which may be NULL, gets the numbers
 * that were changed, cut or left out. */
bool allo_write(const struct allo_writer *writer, const struct allo_profile *profile,
		const struct allo_write_options *options, struct allo_output *out,
		struct allo_notes *notes, struct allo_error *err);

/* The capabilities (ALLO_HOLDS_*) that a format needs to hold all of a profile. */
unsigned allo_profile_holds(const struct allo_profile *profile);

/* The names of capabilities, such as "lines, labels"; empty for none. */
void allo_holds_names(unsigned holds, char *out, size_t room);

#endif
