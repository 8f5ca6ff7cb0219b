/*
 * glibc_arenas.h - finds the arenas of glibc's malloc in the memory of another process.
 *
 * glibc exports no pointer to them, and libc seldom has symbols.  But an arena has 127 lists of
 * free blocks, and an empty list, as most are, points at itself twice: no other data looks like
 * that.  The fields around the lists have had the same order since glibc 2.23.  If they are
 * inconsistent, nothing is found.
 */
#ifndef ALLO_LEDGER_GLIBC_ARENAS_H
#define ALLO_LEDGER_GLIBC_ARENAS_H

#include "ledger/other_memory.h"
#include "ledger/vmas.h"

enum {
	ALLO_GLIBC_FASTBINS = 10,
	/* Heaps of all arenas except the first begin at multiples of this. */
	ALLO_GLIBC_HEAP_MAX = 64 << 20,
};

struct allo_glibc_arena {
	uint64_t address;
	uint64_t top; /* address of the top block, from which the arena grows */
	uint64_t fastbins[ALLO_GLIBC_FASTBINS];
	uint64_t system_bytes, system_peak_bytes; /* from the kernel */
};

/* A range of memory that is filled with adjacent blocks. */
struct allo_glibc_segment {
	uint64_t base;       /* start of the range */
	uint64_t first, end; /* of the blocks */
	uint64_t top;        /* the arena's top block, if it is here; else 0 */
	size_t arena;
};

/* All zeros is empty. */
struct allo_glibc {
	ALLO_VEC(struct allo_glibc_arena)
	arenas; /* the first is the main arena, which uses [heap] */
	ALLO_VEC(struct allo_glibc_segment) segments; /* sorted by address */
	uint64_t mapped_bytes; /* of blocks that have their own mapping; UINT64_MAX: unknown */
	const char *why;       /* reason if no arenas were found; else NULL */
};

/* False only when memory is short; `why` has other failures. */
bool allo_glibc_find(struct allo_glibc *glibc, const struct allo_vmas *vmas,
		     const struct allo_other_memory *memory, struct allo_error *err);

void allo_glibc_done(struct allo_glibc *glibc);

/* Searches `words` for libc's struct malloc_par, and returns its count of bytes in blocks that have
 * their own mapping. `heap` is the start of [heap].  UINT64_MAX: not found. */
uint64_t allo_glibc_find_mapped(const uint64_t *words, size_t count, uint64_t heap);

/* The index of an arena's free lists among `words`, which begin at `address`; SIZE_MAX: not found.
 */
size_t allo_glibc_find_lists(const uint64_t *words, size_t count, uint64_t address);

#endif
