/*
 * overview.h - the summary of a profile: top call sites of the peak, leaks, allocations and
 * temporary blocks, and totals by module and thread.
 */
#ifndef ALLO_ANALYSIS_OVERVIEW_H
#define ALLO_ANALYSIS_OVERVIEW_H

#include "analysis/label_sums.h"
#include "analysis/top.h"

/* Call sites by one metric, largest first. */
struct allo_overview_table {
	const char *name;  /* "peak": for programs */
	const char *title; /* "held at the peak": for people */
	struct allo_metric_columns columns;
	struct allo_top top;
	/* The memory that the start of the C and C++ libraries keeps: the rows of what was never
	 * freed leave it out. */
	struct allo_values runtime;
};

enum { ALLO_OVERVIEW_TABLES = 5 };

/* All zeros, with `attribution` set, is ready for use. */
struct allo_overview {
	struct allo_attribution *attribution;                    /* may be NULL */
	struct allo_overview_table tables[ALLO_OVERVIEW_TABLES]; /* those with values */
	size_t count;
	/* By the first table's metric; empty in a profile without threads. */
	struct allo_top modules;
	struct allo_label_sums threads;
};

/* A profile without metrics has no tables. */
bool allo_overview_of(struct allo_overview *overview, const struct allo_profile *profile,
		      struct allo_error *err);

/* Finds a table by name, or NULL. */
const struct allo_overview_table *allo_overview_find(const struct allo_overview *overview,
						     const char *name);

void allo_overview_done(struct allo_overview *overview);

#endif
