/*
 * ledger.h - what the resident memory of a process is made of.
 *
 * Each byte that the kernel counts as resident stands in one row, so that the rows add up to its
 * figure.  What nobody can account for has a row as well.
 */
#ifndef ALLO_LEDGER_LEDGER_H
#define ALLO_LEDGER_LEDGER_H

#include "ledger/other_memory.h"
#include "ledger/vmas.h"

#include <allo.h>

enum allo_ledger_part {
	ALLO_PART_LIVE,        /* blocks as they were asked for, where that was recorded */
	ALLO_PART_ROUNDING,    /* what they are larger by, heads included */
	ALLO_PART_BLOCKS,      /* both of these, where it was not */
	ALLO_PART_FREE_BLOCKS, /* in the allocator's lists, between others */
	ALLO_PART_CACHES,      /* in threads' lists */
	ALLO_PART_FREE_PAGES,  /* whole pages that the allocator keeps */
	ALLO_PART_ALLOCATOR,   /* the allocator's own */
	ALLO_PART_HEAP,        /* the allocator's, and more is not known */
	ALLO_PART_UNTOUCHED,   /* counted above, but never written to: negative */
	ALLO_PART_STACKS,
	ALLO_PART_CODE,
	ALLO_PART_FILES,
	ALLO_PART_DATA, /* variables of programs and libraries */
	ALLO_PART_SHARED,
	ALLO_PART_PROFILER,
	ALLO_PART_KERNEL,
	ALLO_PART_UNEXPLAINED,
	ALLO_PARTS,
};

struct allo_ledger_row {
	bool is_there;
	int64_t rss;
	uint64_t bytes;  /* whether or not they are resident */
	uint64_t blocks; /* or mappings, or threads: see allo_ledger_parts */
};

/* How a part is called: in JSON, in a table, and explained. */
struct allo_ledger_name {
	const char *name, *title, *counted, *about;
};

extern const struct allo_ledger_name allo_ledger_parts[ALLO_PARTS];

enum { ALLO_LEDGER_NOTES = 8 };

struct allo_ledger {
	uint64_t rss; /* by the kernel's walk through all pages */
	uint64_t swap;
	struct allo_ledger_row rows[ALLO_PARTS];
	const char *allocator;                /* its name, as in allo.h; the facts' or a constant */
	const char *notes[ALLO_LEDGER_NOTES]; /* what could not be told, and why; NULL ends */
	uint64_t walk_ns;                     /* through the allocator's blocks */
};

/* What is known besides mappings. */
struct allo_ledger_facts {
	const char *allocator; /* its name, as in allo.h; "": not known */
	bool walks;            /* glibc's blocks may be walked through */
	/* What the allocator says of itself; NULL: nothing, or not enough, and why. */
	const struct allo_allocator_memory *told;
	const char *told_why;
	/* What was recorded to be live; ALLO_UNKNOWN if nothing was. */
	uint64_t live_bytes, live_blocks;
	bool has_earlier; /* blocks from before are not in it */
};

/* Marks stacks in `vmas` on the way.  False when memory is short. */
bool allo_ledger_make(struct allo_ledger *ledger, struct allo_vmas *vmas,
		      const struct allo_other_memory *memory, const struct allo_ledger_facts *facts,
		      struct allo_error *err);

/* Which part a mapping belongs to, of those that are not taken apart further. */
enum allo_ledger_part allo_ledger_part_of(const struct allo_vma *vma, bool has_profiler);

/* Whether the runtime is in the process. */
bool allo_ledger_has_profiler(const struct allo_vmas *vmas);

/* The recording that the process writes; empty: none. */
struct allo_text allo_ledger_recording(const struct allo_vmas *vmas);

#endif
