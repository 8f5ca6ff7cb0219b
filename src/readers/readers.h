/*
 * readers.h - all formats that can be read.
 *
 * What comes back has been validated: every id in the profile can be trusted.
 */
#ifndef ALLO_READERS_READERS_H
#define ALLO_READERS_READERS_H

#include "readers/reader.h"

/* Ends with NULL; in alphabetical order. */
extern const struct allo_reader *const allo_readers[];

/* By name; NULL, and a failure that lists the names, when there is none. */
const struct allo_reader *allo_reader_find(const char *name, struct allo_error *err);

/* Whether a path is that of a directory, which is nothing to open as an input. */
bool allo_is_directory(const char *path);

/* Reads a file, a directory, or standard input for "-", into an empty profile.  `options` may be
 * NULL. */
bool allo_read_file(const char *path, const struct allo_read_options *options,
		    struct allo_profile *profile, struct allo_error *err);

/* The same from a descriptor, which stays open; `name` stands for a file in messages. */
bool allo_read_fd(int fd, const char *name, const struct allo_read_options *options,
		  struct allo_profile *profile, struct allo_error *err);

/* The same from an input of which nothing has been read yet. */
bool allo_read_input(struct allo_input *in, const struct allo_read_options *options,
		     struct allo_profile *profile, struct allo_error *err);

/* The same from memory. */
bool allo_read_memory(const char *name, const void *data, size_t len,
		      const struct allo_read_options *options, struct allo_profile *profile,
		      struct allo_error *err);

#endif
