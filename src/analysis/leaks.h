/*
 * leaks.h - what was never freed, by stack, and how it came about over time.
 */
#ifndef ALLO_ANALYSIS_LEAKS_H
#define ALLO_ANALYSIS_LEAKS_H

#include "analysis/sum.h"

enum { ALLO_TENTHS = 10 };

/* When the blocks that a stack still holds at the end were allocated. */
struct allo_births {
	uint64_t first_ns, last_ns;
	uint64_t blocks[ALLO_TENTHS]; /* in each tenth of the run */
};

/* By stack, of those that hold anything at the end.  All zeros is empty. */
struct allo_birth_table {
	uint64_t from_ns, duration_ns; /* of the run */
	ALLO_VEC(uint32_t) numbers;    /* by stack: index in `births` + 1; 0: none */
	ALLO_VEC(struct allo_births) births;
};

void allo_birth_table_done(struct allo_birth_table *table);

/* Adds a block that is live at the end. */
bool allo_birth_table_add(struct allo_birth_table *table, allo_stack_id stack, uint64_t ns,
			  struct allo_error *err);

/* Forgets stacks that no sample ends with any more. */
bool allo_birth_table_limit(struct allo_birth_table *table, const struct allo_profile *profile,
			    struct allo_error *err);

/* Puts stacks together that have become one, as analysis/filter.h tells: `became` has what each
 * of `count` is now, or UINT32_MAX. */
bool allo_birth_table_move(struct allo_birth_table *table, const allo_stack_id *became,
			   size_t count, struct allo_error *err);

/* NULL: nothing is known. */
const struct allo_births *allo_birth_table_find(const struct allo_birth_table *table,
						allo_stack_id stack);

enum allo_leak_kind {
	ALLO_LEAK_START,   /* all in the first tenth of the run */
	ALLO_LEAK_GROWING, /* in three tenths or more, and still in the last three */
	ALLO_LEAK_LATER,   /* neither */
	ALLO_LEAK_KINDS
};

/* "start", "growing", "later"; NULL ends. */
extern const char *const allo_leak_kind_names[];

enum allo_leak_kind allo_births_kind(const struct allo_births *births);

/* What one stack holds, or several that read the same. */
struct allo_leak {
	allo_stack_id stack; /* the first of them */
	struct allo_values values;
	bool has_births;
	struct allo_births births; /* and the kind that they make it, if they are known */
	enum allo_leak_kind kind;
};

/* All zeros is empty. */
struct allo_leaks {
	struct allo_values sum;
	ALLO_VEC(struct allo_leak) list; /* the heaviest first */
};

void allo_leaks_done(struct allo_leaks *leaks);

/* Leaks of a profile whose columns are what is live at its end.  `births` may be NULL. */
bool allo_leaks_of(struct allo_leaks *leaks, const struct allo_profile *profile,
		   const struct allo_columns *columns, const struct allo_birth_table *births,
		   struct allo_error *err);

/* Keeps those of some kinds, a bit each; without known births none is of any. */
void allo_leaks_keep(struct allo_leaks *leaks, unsigned kinds);

/* The metric that tells what was never freed, or was live when the profile was taken. */
bool allo_find_leak_metric(const struct allo_profile *profile, size_t *metric,
			   struct allo_error *err);

#endif
