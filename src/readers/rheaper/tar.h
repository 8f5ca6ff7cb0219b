/*
 * tar.h - iterates over the files of a tar archive.
 *
 *     struct allo_tar tar = { .source = &source };
 *     while (allo_tar_next(&tar, err))
 *             ... tar.path, tar.offset, tar.size ...
 *
 * Reads POSIX (ustar, pax) and GNU archives.  Entries other than files are skipped.  A truncated
 * archive yields the files up to the cut.
 */
#ifndef ALLO_READERS_RHEAPER_TAR_H
#define ALLO_READERS_RHEAPER_TAR_H

#include "base/io/random_access.h"

enum { ALLO_TAR_PATH_MAX = 4096 };

struct allo_tar {
	const struct allo_random_access *source; /* set by the caller; the rest is zeros */
	/* The current file. */
	char path[ALLO_TAR_PATH_MAX];
	uint64_t offset, size; /* of its bytes, without those that are missing */
	bool is_cut;           /* the archive ends without an end mark */

	/* Private from here on. */
	uint64_t next;           /* offset of the next header */
	bool has_path, has_size; /* path and given_size are set for the next header */
	uint64_t given_size;
};

/* Whether an archive may start with these bytes. */
bool allo_is_tar(struct allo_text head);

/* Moves to the next file; false at the end and on failure. */
bool allo_tar_next(struct allo_tar *tar, struct allo_error *err);

#endif
