/*
 * spots.h - addresses of one file that need names, and their symbols and lines.
 */
#ifndef ALLO_SYMBOLS_SPOTS_H
#define ALLO_SYMBOLS_SPOTS_H

#include "base/sorted.h"
#include "profile/profile.h"

/* A function of a symbol table or, without a name, of an unwind table. */
struct allo_symbol {
	const char *name; /* in the open file; NULL: none */
	uint64_t start;   /* 0: unknown */
	bool is_function, is_local, is_weak;
};

struct allo_spot {
	uint64_t address; /* in the file, without the load bias */
	struct allo_symbol symbol;
	uint32_t first_line, line_count; /* in `lines`; 0 lines: unknown */
	bool is_known;                   /* from the cache, even if it has no lines */
};

/* All zeros is empty. */
struct allo_spots {
	ALLO_VEC(struct allo_spot) spots; /* sorted by address, without duplicates */
	ALLO_VEC(struct allo_line) lines; /* with function ids of the profile */
};

static inline void allo_spots_done(struct allo_spots *spots)
{
	allo_vec_done(&spots->spots);
	allo_vec_done(&spots->lines);
}

/* The lines of a spot; NULL if it has none. */
static inline struct allo_line *allo_spot_lines(const struct allo_spots *spots,
						const struct allo_spot *spot)
{
	return spot->line_count > 0 ? spots->lines.at + spot->first_line : NULL;
}

/* The first spot with this address or a higher one. */
static inline size_t allo_spots_find(const struct allo_spots *spots, uint64_t address)
{
	return allo_sorted_below(spots->spots.at, spots->spots.len, address, address);
}

#endif
