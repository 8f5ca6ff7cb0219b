/*
 * shown_names.h - the names of the functions in one report: short, but different where the
 * functions are.
 *
 *     for (...)
 *             allo_shown_names_add(&names, full_name);
 *     for (...)
 *             print(allo_shown_names_find(&names, full_name));
 */
#ifndef ALLO_PROFILE_SHOWN_NAMES_H
#define ALLO_PROFILE_SHOWN_NAMES_H

#include "base/arena.h"
#include "base/map.h"
#include "profile/short_name.h"

struct allo_shown_name {
	struct allo_text full, shown;
	enum { ALLO_SHOWN_BRIEF, ALLO_SHOWN_DISTINCT, ALLO_SHOWN_FULL } level;
};

/* A short name and the first function that had it. */
struct allo_taken_name {
	struct allo_text text;
	uint32_t name, level; /* index in `all` */
};

/* All zeros is ready for use. */
struct allo_shown_names {
	/* Private. */
	struct allo_arena arena;
	struct allo_name_buffer buffer;
	ALLO_VEC(struct allo_shown_name) all;
	ALLO_VEC(struct allo_taken_name) taken;
	struct allo_map by_full, by_text; /* indices + 1 */
	uint64_t seed;
};

void allo_shown_names_done(struct allo_shown_names *names);

/* Adds a name that will be shown.  When memory is short, it may be shown like another one. */
void allo_shown_names_add(struct allo_shown_names *names, struct allo_text full);

/* The text to show for a name.  A name that was not added has its brief form, which stays valid
 * until the next call. */
struct allo_text allo_shown_names_find(struct allo_shown_names *names, struct allo_text full);

#endif
