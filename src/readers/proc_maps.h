/*
 * proc_maps.h - the list of mapped files at the end of heap profiles.
 *
 *     55aea3838000-55aea3839000 r-xp 00001000 00:00 10960903    /usr/bin/server
 *     55aea3838000-55aea3839000: /usr/bin/server (@1000) 5a3f10e2
 *
 * The first line is Linux's /proc/self/maps; other systems' profiles have the second form.
 */
#ifndef ALLO_READERS_PROC_MAPS_H
#define ALLO_READERS_PROC_MAPS_H

#include "profile/profile.h"

/* A parsed line. */
struct allo_proc_map {
	uint64_t start, limit, offset;
	struct allo_text path, build_id; /* may be empty */
	bool is_executable;
};

/* False for any other line. */
bool allo_proc_map_parse(struct allo_text line, struct allo_proc_map *map);

/* All zeros is empty. */
struct allo_proc_maps {
	ALLO_VEC(struct allo_module)
	modules; /* executable mappings; sorted by allo_proc_maps_add_modules */
	ALLO_VEC(allo_module_id) ids; /* of `modules`, in the profile */
};

void allo_proc_maps_done(struct allo_proc_maps *maps);

/* Keeps a line of an executable mapping; ignores other lines. */
bool allo_proc_maps_read(struct allo_proc_maps *maps, struct allo_text line,
			 struct allo_profile *profile, struct allo_error *err);

/* Adds the modules to the profile, the program first. */
bool allo_proc_maps_add_modules(struct allo_proc_maps *maps, struct allo_profile *profile,
				struct allo_error *err);

/* The profile's module at an address, after they were added; 0: none. */
allo_module_id allo_proc_maps_find(const struct allo_proc_maps *maps, uint64_t address);

#endif
