/*
 * cache_file.h - cache files: results that are expensive to compute.
 *
 * They are in $XDG_CACHE_HOME/allotrope (default: ~/.cache/allotrope), in a folder per kind.  A
 * file is written atomically, so several processes may share the cache.  Nothing here reports
 * failures: a file that cannot be read or written counts as missing.  ALLO_NO_CACHE turns the cache
 * off.
 */
#ifndef ALLO_BASE_CACHE_FILE_H
#define ALLO_BASE_CACHE_FILE_H

#include "base/vec.h"

#include <stdint.h>

/* The path of a file, owned by the caller; NULL when there is no cache folder. */
char *allo_cache_path(const char *kind, const char *name);

typedef ALLO_VEC(char) allo_cache_bytes;

/* Reads a regular file of at most `most` bytes; `bytes` is empty when that fails. */
void allo_cache_read(const char *path, size_t most, allo_cache_bytes *bytes);

/* Creates the folders of a path, private to the user, for a file that another function writes. */
void allo_cache_make_folders(const char *path);

/* False when the file could not be written. */
bool allo_cache_write(const char *path, const void *bytes, size_t len);

/* When the files of a kind have more than `most` bytes, removes the oldest until three quarters of
 * `most` are left. */
void allo_cache_trim(const char *kind, uint64_t most);

#endif
