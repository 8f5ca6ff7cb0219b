/*
 * lib_ranges.h - which module has an address.
 *
 * Modules come and go while a program runs.  A range that is put where others are takes their
 * place, as a mapping does, so that there is one answer for each address: that of the moment.
 */
#ifndef ALLO_LIB_RANGES_H
#define ALLO_LIB_RANGES_H

#include "profile/profile.h"

struct allo_module_range {
	uint64_t start, limit;
	allo_module_id module;
};

/* All zeros is empty. */
struct allo_ranges {
	ALLO_VEC(struct allo_module_range) list; /* by address; they do not overlap */
	size_t modules;                          /* of the profile's: how many have been put */
};

/* False when memory is short, and then nothing has changed. */
bool allo_ranges_put(struct allo_ranges *ranges, const struct allo_module_range *range);

/* 0 for none. */
allo_module_id allo_ranges_find(const struct allo_ranges *ranges, uint64_t address);

void allo_ranges_done(struct allo_ranges *ranges);

#endif
