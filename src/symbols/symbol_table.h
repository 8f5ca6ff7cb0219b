/*
 * symbol_table.h - functions from an ELF file's symbol tables.
 *
 * A function reaches as far as its size says.  Where no such one is, one without a size counts: it
 * reaches to where the next symbol begins, or one with a size or its section ends.  Of several at
 * an address the one that begins last is taken.  Of several names of one function, in this order:
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
 * Looks up the spots that have no symbol yet, in the table of a type (SHT_SYMTAB, SHT_DYNSYM).
 * Goes through the table once and keeps what the spots need.  Names are the file's.  `has_table`
 * says whether there is such a table; false when memory is short.
 */
bool allo_symbol_table_find(Elf *elf, uint32_t type, struct allo_spots *spots, bool *has_table,
			    struct allo_error *err);

#endif
