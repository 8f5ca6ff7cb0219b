/*
 * name_cache.h - names that have been found before, by build-id, so that debug information need not
 * be read again.
 *
 * A file of the cache (base/cache_file.h) for each module, with the addresses that anybody has
 * asked for.  One that is damaged, of another version of the program or made of other files is as
 * good as none.
 */
#ifndef ALLO_SYMBOLS_NAME_CACHE_H
#define ALLO_SYMBOLS_NAME_CACHE_H

#include "base/cache_file.h"
#include "profile/name_table.h"
#include "symbols/module_files.h"
#include "symbols/spots.h"

/* What a module's names are in the cache by; all zeros is a cache that has nothing. */
struct allo_name_cache {
	char *path; /* of its file; NULL: it is not used */
	uint32_t source;
	uint64_t own_size, debug_size; /* of the files that names come from */
	allo_cache_bytes bytes;        /* of its file, the head included; empty: nothing of use */
};

void allo_name_cache_done(struct allo_name_cache *cache);

/* Looks for what is known of a module.  Without a build-id nothing is. */
void allo_name_cache_open(struct allo_name_cache *cache, const struct allo_module_files *files,
			  const struct allo_build_id *id);

/* Gives lines to the spots that it has, and marks them as known; those have names in `names`. */
bool allo_name_cache_use(struct allo_name_cache *cache, struct allo_spots *spots,
			 struct allo_profile *names, struct allo_error *err);

/* Keeps the spots' lines, and what there was before; `source` is for the next one to read.  Whether
 * it was written. */
bool allo_name_cache_save(struct allo_name_cache *cache, uint32_t source,
			  const struct allo_spots *spots, struct allo_profile *names,
			  struct allo_error *err);

/* Removes what has been written longest ago, if there is too much. */
void allo_name_cache_trim(void);

#endif
