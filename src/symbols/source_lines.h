/*
 * source_lines.h - functions, files, lines and inlined calls from DWARF.
 *
 * Only compilation units with one of the addresses are read, each once for all of its addresses.
 */
#ifndef ALLO_SYMBOLS_SOURCE_LINES_H
#define ALLO_SYMBOLS_SOURCE_LINES_H

#include "symbols/demangle.h"
#include "symbols/spots.h"

#include <libelf.h>

/* Whether a file has DWARF. */
bool allo_has_source_lines(Elf *elf);

/* Called with the number of spots that were just looked up. */
struct allo_spot_progress {
	void (*tell)(void *context, size_t more);
	void *context;
};

/*
 * Gives lines to the spots that the file describes, the innermost inlined call first.  A spot whose
 * function is not described takes the name of its symbol.  Only lack of memory is a failure.
 * `file_bytes`, the size of the file, limits the work: a hostile file has fewer lines.
 */
bool allo_source_lines_find(Elf *elf, uint64_t file_bytes, struct allo_spots *spots,
			    struct allo_profile *profile, struct allo_function_names *names,
			    const struct allo_spot_progress *progress, struct allo_error *err);

#endif
