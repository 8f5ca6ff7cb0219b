/*
 * proc_maps.h - the list of mapped files that heap profiles end with.
 *
 *     55aea3838000-55aea3839000 r-xp 00001000 00:00 10960903    /usr/bin/server
 *     55aea3838000-55aea3839000: /usr/bin/server (@1000) 5a3f10e2
 *
 * The first is Linux's /proc/self/maps, the second what others print in its place.
 */
#ifndef ALLO_READERS_PROC_MAPS_H
#define ALLO_READERS_PROC_MAPS_H

#include "profile/profile.h"

/* A line, taken apart. */
struct allo_proc_map {
	uint64_t start, limit, offset;
	struct allo_text path, build_id; /* may be empty */
	bool is_executable;
};

/* False when it is no such line. */
bool allo_proc_map_parse(struct allo_text line, struct allo_proc_map *map);

/* All zeros is empty. */
struct allo_proc_maps {
	ALLO_VEC(struct allo_module) modules; /* executable mappings; sorted once they are added */
	ALLO_VEC(allo_module_id) ids;         /* of `modules`, in the profile */
};

void allo_proc_maps_done(struct allo_proc_maps *maps);

/* Keeps what an executable mapping's line says and skips other lines. */
bool allo_proc_maps_read(struct allo_proc_maps *maps, struct allo_text line,
			 struct allo_profile *profile, struct allo_error *err);

/* Adds what has been read to the profile; the program comes first. */
bool allo_proc_maps_add_modules(struct allo_proc_maps *maps, struct allo_profile *profile,
				struct allo_error *err);

/* The profile's module at an address, once they are added; 0 when there is none. */
allo_module_id allo_proc_maps_find(const struct allo_proc_maps *maps, uint64_t address);

#endif
