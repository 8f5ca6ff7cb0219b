/*
 * evidence.h - everything that the rules look at: sums and facts per site, and totals.
 *
 * A site is a call in the user's code, the same as a row of 'allo top'
 * (analysis/sites/attribution.h): a function and a line.  All stacks that belong to it are added
 * up.
 */
#ifndef ALLO_FINDINGS_EVIDENCE_H
#define ALLO_FINDINGS_EVIDENCE_H

#include "analysis/top.h"
#include "findings/facts.h"
#include "replay/summary.h"

/* The data that a rule may need; see allo_data_kinds. */
enum allo_data {
	ALLO_DATA_ALLOCATIONS = 1,  /* allocated blocks and bytes */
	ALLO_DATA_END = 2,          /* bytes that were never freed */
	ALLO_DATA_EVENTS = 4,       /* single allocations with their times */
	ALLO_DATA_EXACT = 8,        /* all of them, not a sample */
	ALLO_DATA_THREADS = 16,     /* several threads */
	ALLO_DATA_READS = 32,       /* accesses of blocks */
	ALLO_DATA_BYTE_COUNTS = 64, /* accesses of single bytes of blocks */
	ALLO_DATA_RESIDENT = 128,   /* resident memory over time */
};

/* The data, and how to get it: "needs access data; record with ...". */
struct allo_data_kind {
	enum allo_data data;
	const char *name, *source;
};

enum { ALLO_DATA_KINDS = 8 };
extern const struct allo_data_kind allo_data_kinds[ALLO_DATA_KINDS];

/* The allocator that serves malloc. */
enum allo_allocator {
	ALLO_ALLOCATOR_GLIBC, /* also if nothing is known */
	ALLO_ALLOCATOR_MUSL,
	/* jemalloc, tcmalloc, mimalloc, those of browsers: small blocks have no headers. */
	ALLO_ALLOCATOR_SIZE_CLASSES,
};

struct allo_evidence_site {
	struct allo_top_key key;
	allo_stack_id stack;     /* the one with the most bytes allocated */
	allo_stack_id end_stack; /* the one with the most bytes never freed */
	enum allo_role role;     /* of the responsible call */
	uint64_t alloc_blocks, alloc_bytes;
	uint64_t peak_blocks, peak_bytes;
	uint64_t end_blocks, end_bytes;
	uint64_t temporary_blocks;
	uint64_t read_bytes, write_bytes;
	uint64_t unread_blocks, unread_bytes;       /* of stacks that are written and never read */
	uint64_t unwritten_blocks, unwritten_bytes; /* of stacks that are never written */
	uint64_t untouched_blocks, untouched_bytes; /* of stacks with access counts: the tail */
	uint64_t counted_bytes;                     /* all bytes of these stacks */
	uint64_t stack_bytes, end_stack_bytes;      /* private: of these stacks */
	struct allo_site_facts facts;
	const struct allo_curve *curve;         /* NULL: too little memory, or no events */
	const struct allo_growth_facts *growth; /* NULL: no reallocs, or no events */
};

/* The caller's inputs; all but the profile may be NULL. */
struct allo_evidence_input {
	const struct allo_profile *profile;
	struct allo_attribution *attribution;
	const struct allo_facts *facts;
	const allo_stack_id *stacks; /* of the facts' nodes */
	const struct allo_timeline *timeline;
	const struct allo_summary *summary;
	/* Resident bytes of malloc's memory in each step of the timeline; 0: unknown. */
	const uint64_t *resident;
};

/* All zeros: nothing to drop. */
struct allo_evidence {
	struct allo_evidence_input in;
	unsigned data; /* enum allo_data */
	ALLO_VEC(struct allo_evidence_site) sites;
	struct allo_evidence_site sum; /* of all sites, and of blocks without a stack */
	uint64_t duration_ns, peak_ns;
	uint64_t unnamed_blocks; /* whose site has no name */
	enum allo_allocator allocator;

	/* Private. */
	struct allo_top top;
	struct allo_arena arena;
};

bool allo_evidence_of(struct allo_evidence *evidence, const struct allo_evidence_input *input,
		      struct allo_error *err);

void allo_evidence_done(struct allo_evidence *evidence);

/* Whether the responsible call is code that a reader may change, not a runtime or a library. */
static inline bool allo_evidence_is_own(const struct allo_evidence_site *site)
{
	return site->role <= ALLO_ROLE_SCRIPT;
}

/*
 * Whether the blocks are made by an interpreter for Python or JavaScript.  These may come from an
 * allocator of the interpreter, and such a program has no control of single blocks.
 */
static inline bool allo_evidence_is_interpreted(const struct allo_evidence *evidence,
						const struct allo_evidence_site *site)
{
	return site->role == ALLO_ROLE_SCRIPT || site->role == ALLO_ROLE_SCRIPT_LIBRARY ||
	       (site->role == ALLO_ROLE_LIBRARY && evidence->in.attribution &&
		evidence->in.attribution->has_scripts);
}

#endif
