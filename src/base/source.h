/*
 * source.h - bytes that can be read anywhere: of a file, of memory, or of what a pipe has brought.
 *
 * Formats that lie in their files in another order than they are read in need this.  What cannot be
 * read anywhere (a pipe, a packed file) is first written to a temporary file without a name.
 */
#ifndef ALLO_BASE_SOURCE_H
#define ALLO_BASE_SOURCE_H

#include "base/input.h"

/* All zeros: nothing to close. */
struct allo_source {
	const char *name; /* for messages; the caller's */
	uint64_t size;    /* when it was last looked at; it may have become less or more since */

	/* Private from here on. */
	const char *memory; /* NULL for a file */
	int fd;
	bool owns_fd;
	uint64_t start; /* of the source in the file */
};

/* All that an input has; nothing of it must have been read yet, and it stays open as long. */
bool allo_source_open(struct allo_source *source, struct allo_input *in, struct allo_error *err);

/* Looks how large the file has become.  False where it is none, and cannot grow. */
bool allo_source_grow(struct allo_source *source);

void allo_source_close(struct allo_source *source);

/* Reads up to `count` bytes; less only where the source ends.  False at failure. */
bool allo_source_read(const struct allo_source *source, uint64_t offset, void *buffer, size_t count,
		      size_t *got, struct allo_error *err);

#endif
