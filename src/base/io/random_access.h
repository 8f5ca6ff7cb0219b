/*
 * random_access.h - an input that can be read at any offset.
 *
 * For formats that are not read in file order.  A pipe or a compressed file is copied first: into
 * memory, or into an unnamed temporary file if it is large.
 */
#ifndef ALLO_BASE_RANDOM_ACCESS_H
#define ALLO_BASE_RANDOM_ACCESS_H

#include "base/io/input.h"

/* All zeros: nothing to close. */
struct allo_random_access {
	const char *name; /* for messages; owned by the caller */
	uint64_t size;    /* as last checked; the file may shrink or grow afterwards */
	uint64_t stored;  /* bytes that the input takes: compressed, and without holes */

	/* Private from here on. */
	const char *memory; /* NULL for a file */
	char *copy;         /* owned; NULL if there is none, or if it is a file */
	int fd;
	bool owns_fd;
	uint64_t start; /* offset of the input in the file */
};

/* Opens the whole of `in`, of which nothing has been read yet.  `in` must stay open as long. */
bool allo_random_access_open(struct allo_random_access *source, struct allo_input *in,
			     struct allo_error *err);

/* Checks whether the file has grown.  False when this is not a file that can grow. */
bool allo_random_access_grow(struct allo_random_access *source);

void allo_random_access_close(struct allo_random_access *source);

/* Reads up to `count` bytes; fewer only at the end.  False on failure. */
bool allo_random_access_read(const struct allo_random_access *source, uint64_t offset, void *buffer,
			     size_t count, size_t *got, struct allo_error *err);

/* The offset of the next byte at or after `offset` that is not in a hole of the file; its size if
 * there is none. */
uint64_t allo_random_access_next_data(const struct allo_random_access *source, uint64_t offset);

#endif
