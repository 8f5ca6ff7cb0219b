/*
 * source_lines.h - functions, files, lines and inlined calls from DWARF.
 *
 * Only units that have one of the addresses are looked into, each once for all of its addresses.
 */
#ifndef ALLO_SYMBOLS_SOURCE_LINES_H
#define ALLO_SYMBOLS_SOURCE_LINES_H

#include "symbols/function_names.h"
#include "symbols/spots.h"

#include <libelf.h>

/* Whether a file has such information. */
bool allo_has_source_lines(Elf *elf);

/* Told how many more spots have been looked up. */
struct allo_spot_progress {
	void (*tell)(void *context, size_t more);
	void *context;
};

/*
 * Gives lines to the spots that the file knows: the innermost inlined call first.  A spot whose
 * function it does not know takes that one's name from its symbol.  Only lack of memory is a
 * failure.
 */
bool allo_source_lines_find(Elf *elf, struct allo_spots *spots, struct allo_profile *profile,
			    struct allo_function_names *names,
			    const struct allo_spot_progress *progress, struct allo_error *err);

#endif
