/*
 * overview.h - what to look at first in a profile: who held the peak, what was never freed, who
 * allocated most, what was temporary, and by which modules and threads.
 */
#ifndef ALLO_ANALYSIS_OVERVIEW_H
#define ALLO_ANALYSIS_OVERVIEW_H

#include "analysis/label_sums.h"
#include "analysis/top.h"

/* Sites by one metric, those with most first. */
struct allo_overview_table {
	const char *name;  /* "peak": for programs */
	const char *title; /* "held at the peak": for people */
	struct allo_columns columns;
	struct allo_top top;
};

enum { ALLO_OVERVIEW_TABLES = 5 };

/* All zeros: nothing to drop. */
struct allo_overview {
	struct allo_overview_table
		tables[ALLO_OVERVIEW_TABLES]; /* those that there are numbers for */
	size_t count;
	/* Of the first table's metric; a profile that knows no threads has none. */
	struct allo_top modules;
	struct allo_label_sums threads;
};

/* A profile without any metric has no table. */
bool allo_overview_of(struct allo_overview *overview, const struct allo_profile *profile,
		      struct allo_error *err);

/* By name; NULL: there is none. */
const struct allo_overview_table *allo_overview_find(const struct allo_overview *overview,
						     const char *name);

void allo_overview_done(struct allo_overview *overview);

#endif
