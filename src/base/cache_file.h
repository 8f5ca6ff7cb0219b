/*
 * cache_file.h - files with what took long to find out and can be found out again.
 *
 * They lie in $XDG_CACHE_HOME/allotrope, or ~/.cache/allotrope, in a folder for each kind.  Files
 * appear whole, so that several processes may use them at once.  A file that cannot be read or
 * written is as good as none: nothing here fails.  With ALLO_NO_CACHE set there are none.
 */
#ifndef ALLO_BASE_CACHE_FILE_H
#define ALLO_BASE_CACHE_FILE_H

#include "base/vec.h"

#include <stdint.h>

/* The path of a file, to be freed; NULL where there is no place for it. */
char *allo_cache_path(const char *kind, const char *name);

typedef ALLO_VEC(char) allo_cache_bytes;

/* All bytes of a file, if it is one and has not more than `most`; else none. */
void allo_cache_read(const char *path, size_t most, allo_cache_bytes *bytes);

/* Whether it was written. */
bool allo_cache_write(const char *path, const void *bytes, size_t len);

/* Removes the oldest files of a kind if there are more bytes than `most` in all of them, so that
 * three quarters of that are left. */
void allo_cache_trim(const char *kind, uint64_t most);

#endif
