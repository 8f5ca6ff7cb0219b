/*
 * dhat_sort.h - the sort orders of DHAT's viewer, and its rules of significance.
 */
#ifndef ALLO_ANALYSIS_DHAT_SORT_H
#define ALLO_ANALYSIS_DHAT_SORT_H

#include "analysis/sum.h"

/* The fields of a program point; a profile may have any of them. */
enum allo_pp_field {
	ALLO_PP_TOTAL_BYTES,
	ALLO_PP_TOTAL_BLOCKS,
	ALLO_PP_LIFETIMES,
	ALLO_PP_MAX_BYTES, /* meaningful for a single point only: maxima do not add up */
	ALLO_PP_MAX_BLOCKS,
	ALLO_PP_PEAK_BYTES,
	ALLO_PP_PEAK_BLOCKS,
	ALLO_PP_END_BYTES,
	ALLO_PP_END_BLOCKS,
	ALLO_PP_READS,
	ALLO_PP_WRITES,
	ALLO_PP_FIELDS
};

/* The profile's metric for each field. */
struct allo_pp_columns {
	size_t metric[ALLO_PP_FIELDS];
	bool has[ALLO_PP_FIELDS];
};

/* The total is the allocated bytes, else copied bytes or the program's events, else the default
 * metric unless that is a live figure. */
struct allo_pp_columns allo_pp_columns_of(const struct allo_profile *profile);

/* The values of one or several points. */
struct allo_pp_values {
	allo_sum of[ALLO_PP_FIELDS];
};

/* 0 / 0 is 0. */
static inline double allo_pp_ratio(allo_sum part, allo_sum whole)
{
	return part == 0 && whole == 0 ? 0 : (double)part / (double)whole;
}

/* A condition for significance, besides the size. */
enum allo_pp_condition {
	ALLO_PP_ANY,
	ALLO_PP_TINY,        /* blocks of at most 16 bytes on average */
	ALLO_PP_SHORT_LIVED, /* average lifetime within the profile's `short_lived` */
	ALLO_PP_UNUSED,      /* never read, or never written */
	ALLO_PP_LOW_ACCESS,  /* read or written at most 0.4 times per byte, but not never */
	ALLO_PP_HIGH_ACCESS, /* read or written at least 1000 times per byte */
};

/* Parts of a point's description, which a sort highlights. */
enum {
	ALLO_PP_SHOWS_TOTAL_BYTES = 1 << 0,
	ALLO_PP_SHOWS_TOTAL_BLOCKS = 1 << 1,
	ALLO_PP_SHOWS_SIZE = 1 << 2,
	ALLO_PP_SHOWS_LIFETIME = 1 << 3,
	ALLO_PP_SHOWS_PEAK = 1 << 4,
	ALLO_PP_SHOWS_END = 1 << 5,
	ALLO_PP_SHOWS_READS = 1 << 6,
	ALLO_PP_SHOWS_READS_PER_BYTE = 1 << 7,
	ALLO_PP_SHOWS_WRITES = 1 << 8,
	ALLO_PP_SHOWS_WRITES_PER_BYTE = 1 << 9,
};

struct allo_pp_sort {
	const char *name;
	enum allo_pp_field key;
	enum allo_pp_condition condition;
	unsigned shows;
};

/* In the order of the viewer's menu. */
enum { ALLO_PP_SORTS = 14 };
extern const struct allo_pp_sort allo_pp_sorts[ALLO_PP_SORTS];

/* The default threshold of significance, in percent of the whole. */
static inline double allo_pp_min_share(const struct allo_pp_sort *sort)
{
	return sort->condition == ALLO_PP_ANY ? 1 : 0.5;
}

/* Total blocks, as in the viewer; without them total, peak or end bytes. */
const struct allo_pp_sort *allo_pp_default_sort(const struct allo_pp_columns *columns);

/* Whether a profile has the fields that a sort needs. */
bool allo_pp_sort_fits(const struct allo_pp_sort *sort, const struct allo_pp_columns *columns);

/* Whether values meet a sort's condition, apart from the size; `short_lived` is the profile's. */
bool allo_pp_sort_meets(const struct allo_pp_sort *sort, const struct allo_pp_values *values,
			uint64_t short_lived);

#endif
