/*
 * name_cache.h - a cache of names by build-id, so that debug information is not read again.
 *
 * Each module has a file (base/io/cache_file.h) with all addresses that were ever looked up.  A
 * file is ignored if it is damaged, or was made by another version of the program or from other
 * files.
 */
#ifndef ALLO_SYMBOLS_NAME_CACHE_H
#define ALLO_SYMBOLS_NAME_CACHE_H

#include "base/io/cache_file.h"
#include "profile/name_table.h"
#include "symbols/module_files.h"
#include "symbols/spots.h"

/* The cached names of a module; all zeros is empty. */
struct allo_name_cache {
	char *path; /* of the cache file; NULL: not used */
	uint32_t source;
	uint64_t own_size, debug_size; /* of the module's files */
	allo_cache_bytes bytes; /* of the cache file, with its header; empty: no valid file */
};

void allo_name_cache_done(struct allo_name_cache *cache);

/* Reads the cache file of a module.  A module without a build-id has none. */
void allo_name_cache_open(struct allo_name_cache *cache, const struct allo_module_files *files,
			  const struct allo_build_id *id);

/* Gives lines to the spots in the cache and marks them as known.  Functions are added to `names`.
 */
bool allo_name_cache_use(struct allo_name_cache *cache, struct allo_spots *spots,
			 struct allo_profile *names, struct allo_error *err);

/* Writes the lines of the spots and of the old file.  Stores `source` with them.  Whether the file
 * was written. */
bool allo_name_cache_save(struct allo_name_cache *cache, uint32_t source,
			  const struct allo_spots *spots, struct allo_profile *names,
			  struct allo_error *err);

/* Removes the oldest files, if the cache is too large. */
void allo_name_cache_trim(void);

#endif
