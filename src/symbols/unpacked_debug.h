/*
 * unpacked_debug.h - packed debug information, unpacked.
 *
 * Debian packs it.  libdw can unpack it, but all of it, and at a third of the speed; only parts of
 * it tell of lines and inlined calls.
 */
#ifndef ALLO_SYMBOLS_UNPACKED_DEBUG_H
#define ALLO_SYMBOLS_UNPACKED_DEBUG_H

#include <gelf.h>

/* All zeros is none. */
struct allo_unpacked_debug {
	char *image; /* of a file that has these parts alone */
	Elf *elf;
};

void allo_unpacked_debug_done(struct allo_unpacked_debug *unpacked);

/* What to read debug information from: `unpacked`, or `elf` itself where nothing is packed, or not
 * in a way that is known here, and when memory is short. */
Elf *allo_unpacked_debug_of(struct allo_unpacked_debug *unpacked, Elf *elf);

#endif
