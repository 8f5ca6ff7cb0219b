/*
 * readers.h - the table of input formats, and reading a file of any of them.
 *
 * Every profile is validated before it is returned: callers can trust each id in it.
 */
#ifndef ALLO_READERS_READERS_H
#define ALLO_READERS_READERS_H

#include "readers/reader.h"

/* Ends with NULL; in alphabetical order. */
extern const struct allo_reader *const allo_readers[];

/* The reader of our own recordings. */
extern const struct allo_reader allo_read_allo;

/* The reader of an input of which nothing has been read, or of a directory: the one that
 * options->from names or else the one that recognises the content.  NULL, and a failure, if there
 * is none. */
const struct allo_reader *allo_reader_for_input(struct allo_input *in,
						const struct allo_read_options *options,
						struct allo_error *err);
const struct allo_reader *allo_reader_for_directory(const char *path,
						    const struct allo_read_options *options,
						    struct allo_error *err);

/* Whether a path names a directory, which cannot be opened as an input.  "-" does not. */
bool allo_is_directory(const char *path);

/* Reads a file, a directory, or standard input for "-", into an empty profile.  `options` may be
 * NULL. */
bool allo_read_file(const char *path, const struct allo_read_options *options,
		    struct allo_profile *profile, struct allo_error *err);

/* Reads from a descriptor, which stays open; messages call it `name`. */
bool allo_read_fd(int fd, const char *name, const struct allo_read_options *options,
		  struct allo_profile *profile, struct allo_error *err);

/* Reads from an input whose first byte is still unread. */
bool allo_read_input(struct allo_input *in, const struct allo_read_options *options,
		     struct allo_profile *profile, struct allo_error *err);

/* Reads from memory; messages call it `name`. */
bool allo_read_memory(const char *name, const void *data, size_t len,
		      const struct allo_read_options *options, struct allo_profile *profile,
		      struct allo_error *err);

#endif
