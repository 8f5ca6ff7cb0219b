/*
 * unsample.h - the numbers of heap profiles that are text, and what they stand for.
 *
 * jemalloc, tcmalloc, gperftools and Go print "blocks: bytes [blocks: bytes]": what is live and, in
 * brackets, all that was ever allocated.  Samplers print what they have seen, which is less.
 */
#ifndef ALLO_READERS_UNSAMPLE_H
#define ALLO_READERS_UNSAMPLE_H

#include "base/text.h"
#include "profile/notes.h"

struct allo_counted {
	int64_t blocks, bytes; /* negative only in differences */
};

struct allo_heap_counts {
	struct allo_counted live, ever;
};

/* Takes "blocks: bytes [blocks: bytes]" off the front of *text; numbers may be padded with spaces.
 */
bool allo_heap_counts_take(struct allo_text *text, struct allo_heap_counts *counts);

/*
 * An estimate of what was there, by what a sampler has seen that takes one byte in `rate`: a block
 * of s bytes is seen with the probability 1 - exp(-s / rate).  A rate of 0 or 1 means that all was
 * seen.  Fractions are cut off, as pprof does; what does not fit is cut to the largest number and
 * noted.
 */
struct allo_counted allo_unsample(struct allo_counted seen, int64_t rate, struct allo_notes *notes);

#endif
