/*
 * glibc_arenas.h - the arenas of glibc's malloc in another process, found in its memory.
 *
 * glibc tells nobody where they are, and symbols of libc's own are seldom there.  But an arena has
 * 127 lists of free blocks, and each list that is empty, as most are, points at itself twice: such
 * a row of words is nothing else.  Around it lie the fields that are wanted, in the same order
 * since glibc 2.23; what they say has to fit together, or nothing is found.
 */
#ifndef ALLO_LEDGER_GLIBC_ARENAS_H
#define ALLO_LEDGER_GLIBC_ARENAS_H

#include "ledger/other_memory.h"
#include "ledger/vmas.h"

enum {
	ALLO_GLIBC_FASTBINS = 10,
	/* Heaps of arenas but the first begin at multiples of this. */
	ALLO_GLIBC_HEAP_MAX = 64 << 20,
};

struct allo_glibc_arena {
	uint64_t address;
	uint64_t top; /* the block at the end, which grows */
	uint64_t fastbins[ALLO_GLIBC_FASTBINS];
	uint64_t system_bytes, system_peak_bytes; /* got from the kernel */
};

/* A range of memory that blocks follow one another in. */
struct allo_glibc_segment {
	uint64_t base;       /* where it begins, */
	uint64_t first, end; /* and the blocks in it */
	uint64_t top;        /* in this segment; 0: it is in another */
	size_t arena;
};

/* All zeros: nothing to give back. */
struct allo_glibc {
	ALLO_VEC(struct allo_glibc_arena) arenas;     /* the first is that of [heap] */
	ALLO_VEC(struct allo_glibc_segment) segments; /* by address */
	uint64_t mapped_bytes; /* of blocks with mappings of their own; UINT64_MAX: not known */
	const char *why;       /* none were found; NULL: they were */
};

/* False only when memory is short: see `why`. */
bool allo_glibc_find(struct allo_glibc *glibc, const struct allo_vmas *vmas,
		     const struct allo_other_memory *memory, struct allo_error *err);

void allo_glibc_done(struct allo_glibc *glibc);

/* The bytes of blocks with mappings of their own, as libc's parameters for malloc have it among
 * such words; `heap` is where [heap] begins.  UINT64_MAX: it is not there. */
uint64_t allo_glibc_find_mapped(const uint64_t *words, size_t count, uint64_t heap);

/* Where the lists of an arena are among words that begin at this address; SIZE_MAX: nowhere. */
size_t allo_glibc_find_lists(const uint64_t *words, size_t count, uint64_t address);

#endif
