/*
 * tar.h - the files of a tar archive, one after the other.
 *
 *     struct allo_tar tar = { .source = &source };
 *     while (allo_tar_next(&tar, err))
 *             ... tar.path, tar.offset, tar.size ...
 *
 * Archives of POSIX (ustar, pax) and of GNU tar.  All but files is stepped over, and so is what
 * makes no sense: an archive may have been cut anywhere.
 */
#ifndef ALLO_BASE_TAR_H
#define ALLO_BASE_TAR_H

#include "base/random_access.h"

enum { ALLO_TAR_PATH_MAX = 4096 };

struct allo_tar {
	const struct allo_random_access *source; /* set by the caller, the rest is zeros */
	/* Of the file at hand. */
	char path[ALLO_TAR_PATH_MAX];
	uint64_t offset, size; /* of its bytes that are there */
	bool is_cut; /* the archive ends before its end mark: within the last file, or behind it */

	/* Private from here on. */
	uint64_t next;           /* header */
	bool has_path, has_size; /* that stand in front of a header and are meant for it */
	uint64_t given_size;
};

/* Whether an archive may begin so. */
bool allo_is_tar(struct allo_text head);

/* The next file; false at the end and at failure. */
bool allo_tar_next(struct allo_tar *tar, struct allo_error *err);

#endif
