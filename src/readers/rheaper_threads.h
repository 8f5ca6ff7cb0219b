/*
 * rheaper_threads.h - which thread has allocated the block that is live at an address: what
 * live_blocks.h does not keep.
 */
#ifndef ALLO_READERS_RHEAPER_THREADS_H
#define ALLO_READERS_RHEAPER_THREADS_H

#include "base/error.h"

#include <stddef.h>

struct allo_rheaper_holder {
	uint64_t address; /* 0: the place is free */
	uint32_t thread;
};

/* Open addressing.  All zeros is empty, and ready for use. */
struct allo_rheaper_threads {
	struct allo_rheaper_holder *at;
	uint64_t seed;
	size_t places, count;
	unsigned shift;
};

void allo_rheaper_threads_done(struct allo_rheaper_threads *threads);

/* A block at an address that is not 0 and has none; false when memory is short. */
bool allo_rheaper_threads_put(struct allo_rheaper_threads *threads, uint64_t address,
			      uint32_t thread, struct allo_error *err);

/* Whose it was; 0 when there was none. */
uint32_t allo_rheaper_threads_take(struct allo_rheaper_threads *threads, uint64_t address);

#endif
