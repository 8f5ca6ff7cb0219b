/*
 * random_access.h - bytes that can be read at any offset: of a file, of memory, or of a pipe.
 *
 * For formats that are not read front to back.  Input that does not allow that (a pipe, a
 * compressed file) is first copied to an unnamed temporary file.
 */
#ifndef ALLO_BASE_RANDOM_ACCESS_H
#define ALLO_BASE_RANDOM_ACCESS_H

#include "base/input.h"

/* All zeros: nothing to close. */
struct allo_random_access {
	const char *name; /* for messages; the caller's */
	uint64_t size;    /* when it was last looked at; it may have become less or more since */

	/* Private from here on. */
	const char *memory; /* NULL for a file */
	int fd;
	bool owns_fd;
	uint64_t start; /* of the source in the file */
};

/* All that an input has; nothing of it must have been read yet, and it stays open as long. */
bool allo_random_access_open(struct allo_random_access *source, struct allo_input *in,
			     struct allo_error *err);

/* Looks how large the file has become.  False where it is none, and cannot grow. */
bool allo_random_access_grow(struct allo_random_access *source);

void allo_random_access_close(struct allo_random_access *source);

/* Reads up to `count` bytes; less only where the source ends.  False at failure. */
bool allo_random_access_read(const struct allo_random_access *source, uint64_t offset, void *buffer,
			     size_t count, size_t *got, struct allo_error *err);

#endif
