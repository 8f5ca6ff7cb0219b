/*
 * trampolines.h - executable memory near the functions that it belongs to.
 *
 * Memory is written first and made executable once; it is never both.
 */
#ifndef ALLO_CAPTURE_TRAMPOLINES_H
#define ALLO_CAPTURE_TRAMPOLINES_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writable memory for one trampoline. */
struct allo_trampoline {
	uint8_t *start;
	size_t size;
	struct allo_trampoline_area *area; /* private */
};

/* Finds memory at most `reach` bytes from an address; false if there is none.  It is given out
 * again unless allo_trampoline_keep() is called next. */
bool allo_trampoline_find(struct allo_trampoline *found, uint64_t near, uint64_t reach,
			  size_t size);

void allo_trampoline_keep(const struct allo_trampoline *found);

/* Makes all of them executable.  False if that is not allowed. */
bool allo_trampolines_seal(void);

#endif
