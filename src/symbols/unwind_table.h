/*
 * unwind_table.h - where functions begin, from .eh_frame.
 *
 * Stripped programs keep this section, since exceptions and backtraces need it.  It has the range
 * of each function, without a name.
 */
#ifndef ALLO_SYMBOLS_UNWIND_TABLE_H
#define ALLO_SYMBOLS_UNWIND_TABLE_H

#include "symbols/spots.h"

#include <libelf.h>

/* Sets `symbol.start` of spots whose symbol has no name, where the table has their function. Ranges
 * may overlap: the one that starts last counts.  A damaged table ends at the damage. */
void allo_unwind_table_find(Elf *elf, struct allo_spots *spots);

#endif
