/*
 * symbol_table.h - functions from an ELF file's symbol tables.
 *
 * A function covers the addresses of its size.  If no such function has an address, one without a
 * size counts: it ends where the next symbol starts, where a sized one ends, or with its section.
 * Of several functions at an address the one that starts last wins.  Of several names of one
 * function, in this order:
 *
 *     1. functions before labels of assembly code without a type
 *     2. global and weak names before local ones
 *     3. fewer leading underscores: glibc's own names (__libc_calloc) are global, those that
 *        programs know (calloc) are often weak
 *     4. global names before weak ones
 *     5. the shorter, then the one that sorts first
 */
#ifndef ALLO_SYMBOLS_SYMBOL_TABLE_H
#define ALLO_SYMBOLS_SYMBOL_TABLE_H

#include "symbols/spots.h"

#include <gelf.h>

/*
 * Looks up the spots without a symbol in the table of a type (SHT_SYMTAB, SHT_DYNSYM), in one pass.
 * Names stay in the file.  `has_table` tells whether the file has such a table.  False when memory
 * is short.
 */
bool allo_symbol_table_find(Elf *elf, uint32_t type, struct allo_spots *spots, bool *has_table,
			    struct allo_error *err);

#endif
