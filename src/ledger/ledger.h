/*
 * ledger.h - a breakdown of the resident memory of a process.
 *
 * Each resident byte is in exactly one row, so the rows add up to the resident set that the kernel
 * reports.  Memory of unknown origin has a row too.
 */
#ifndef ALLO_LEDGER_LEDGER_H
#define ALLO_LEDGER_LEDGER_H

#include "ledger/other_memory.h"
#include "ledger/vmas.h"

#include <allo.h>

enum allo_ledger_part {
	ALLO_PART_LIVE,        /* requested bytes of blocks, if they were recorded */
	ALLO_PART_ROUNDING,    /* headers and padding of these blocks */
	ALLO_PART_BLOCKS,      /* both together, if they were not recorded */
	ALLO_PART_FREE_BLOCKS, /* in free lists of the allocator: fragmentation */
	ALLO_PART_CACHES,      /* in caches of threads */
	ALLO_PART_FREE_PAGES,  /* whole pages that the allocator keeps */
	ALLO_PART_ALLOCATOR,   /* metadata of the allocator */
	ALLO_PART_HEAP,        /* memory of the allocator, without details */
	ALLO_PART_UNTOUCHED,   /* counted by the allocator, but not resident: negative */
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
	uint64_t bytes;  /* resident or not */
	uint64_t blocks; /* or mappings, or stacks: see allo_ledger_parts[].counted */
};

/* Names of a part: the key in JSON, the title in tables, the unit of `blocks`, and an explanation.
 */
struct allo_ledger_name {
	const char *name, *title, *counted, *about;
};

extern const struct allo_ledger_name allo_ledger_parts[ALLO_PARTS];

enum { ALLO_LEDGER_NOTES = 8 };

struct allo_ledger {
	uint64_t rss; /* from the kernel's walk through all pages */
	uint64_t swap;
	struct allo_ledger_row rows[ALLO_PARTS];
	const char *allocator;                /* its name, as in allo.h */
	const char *notes[ALLO_LEDGER_NOTES]; /* limits of this breakdown; NULL ends the list */
	uint64_t walk_ns;                     /* duration of the walk through blocks */
};

/* Facts besides the mappings. */
struct allo_ledger_facts {
	const char *allocator; /* its name, as in allo.h; "": unknown */
	bool walks;            /* walking through blocks of glibc is allowed */
	/* Statistics that the allocator reports; NULL: none, and the reason. */
	const struct allo_allocator_memory *reported;
	const char *reported_why;
	/* Live blocks of the recording; ALLO_UNKNOWN without a recording. */
	uint64_t live_bytes, live_blocks;
	bool has_earlier; /* blocks from before the recording are missing in it */
};

/* Also marks the stacks in `vmas`.  False when memory is short. */
bool allo_ledger_make(struct allo_ledger *ledger, struct allo_vmas *vmas,
		      const struct allo_other_memory *memory, const struct allo_ledger_facts *facts,
		      struct allo_error *err);

/* The part of a mapping as a whole. */
enum allo_ledger_part allo_ledger_part_of(const struct allo_vma *vma, bool has_profiler);

/* Whether the runtime is in the process. */
bool allo_ledger_has_profiler(const struct allo_vmas *vmas);

/* Path of the recording that the process writes; empty: none. */
struct allo_text allo_ledger_recording(const struct allo_vmas *vmas);

#endif
