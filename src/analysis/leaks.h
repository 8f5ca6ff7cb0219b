/*
 * leaks.h - leaks by stack: memory that was never freed, and when it was allocated.
 */
#ifndef ALLO_ANALYSIS_LEAKS_H
#define ALLO_ANALYSIS_LEAKS_H

#include "analysis/sum.h"

enum { ALLO_TENTHS = 10 };

/* Allocation times of the blocks of a stack that are live at the end. */
struct allo_births {
	uint64_t first_ns, last_ns;
	uint64_t blocks[ALLO_TENTHS]; /* in each tenth of the run */
	unsigned tenths;              /* of the allocations, a bit each; see part_ns */
};

/* Births by stack, for stacks with live blocks at the end.  All zeros is empty. */
struct allo_birth_table {
	uint64_t from_ns, duration_ns; /* of the run */
	ALLO_VEC(uint32_t) numbers;    /* by stack: index in `births` + 1; 0: none */
	ALLO_VEC(struct allo_births) births;
	/* Ends of the first nine tenths of all allocations; all 0 unless the run is short.  There
	 * the machine's load decides how many allocations fit in a tenth of the time. */
	uint64_t part_ns[ALLO_TENTHS - 1];
};

/* Shorter runs are short. */
enum { ALLO_SHORT_RUN_NS = 1000000000 };

void allo_birth_table_done(struct allo_birth_table *table);

/* Adds a block that is live at the end. */
bool allo_birth_table_add(struct allo_birth_table *table, allo_stack_id stack, uint64_t ns,
			  struct allo_error *err);

/* Drops the births of stacks without samples. */
bool allo_birth_table_limit(struct allo_birth_table *table, const struct allo_profile *profile,
			    struct allo_error *err);

/* Merges the births of stacks that a filter has made equal; see `became` in
 * analysis/filters/filter.h. */
bool allo_birth_table_move(struct allo_birth_table *table, const allo_stack_id *became,
			   size_t count, struct allo_error *err);

/* NULL when unknown. */
const struct allo_births *allo_birth_table_find(const struct allo_birth_table *table,
						allo_stack_id stack);

enum allo_leak_kind {
	ALLO_LEAK_START,   /* all in the first tenth of the run */
	ALLO_LEAK_GROWING, /* in three tenths or more, and still in the last three; also by tenths
			      of the allocations */
	ALLO_LEAK_LATER,   /* neither */
	ALLO_LEAK_RUNTIME, /* of the start of the C and C++ libraries, once per process */
	ALLO_LEAK_KINDS
};

/* "start", "growing", "later", "runtime"; NULL ends. */
extern const char *const allo_leak_kind_names[];

/* The kind by the times alone. */
enum allo_leak_kind allo_births_kind(const struct allo_births *births);

/* The leak of a stack, or of several that print the same. */
struct allo_leak {
	allo_stack_id stack; /* the first of them */
	struct allo_values values;
	bool has_births;
	struct allo_births births; /* if known, with the kind that follows from them */
	enum allo_leak_kind kind;
	double growth; /* bytes per second, see allo_leak_growth(); 0 without births */
};

/* All zeros is empty. */
struct allo_leaks {
	struct allo_values sum;
	struct allo_values runtime;      /* the part of it that is of the kind ALLO_LEAK_RUNTIME */
	size_t runtime_count;            /* of those in the list */
	ALLO_VEC(struct allo_leak) list; /* the heaviest first, those of the runtime last */
};

/* The sum without the part of the runtime. */
struct allo_values allo_leaks_own(const struct allo_leaks *leaks);

void allo_leaks_done(struct allo_leaks *leaks);

/*
 * The speed at which a leak grows, in bytes per second: the slope of the line of least squares
 * through what it had gained after each tenth of the run.
 */
double allo_leak_growth(const struct allo_leak *leak, uint64_t duration_ns);

/* Finds the leaks; `columns` is the metric of live memory at the end.  `births` may be NULL. */
bool allo_leaks_of(struct allo_leaks *leaks, const struct allo_profile *profile,
		   const struct allo_metric_columns *columns, const struct allo_birth_table *births,
		   struct allo_error *err);

/* Keeps the leaks of some kinds, one bit each; leaks without births have no kind. */
void allo_leaks_keep(struct allo_leaks *leaks, unsigned kinds);

/* The metric of leaks: live bytes at the end, or when the profile was taken. */
bool allo_find_leak_metric(const struct allo_profile *profile, size_t *metric,
			   struct allo_error *err);

#endif
