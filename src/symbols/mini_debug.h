/*
 * mini_debug.h - the symbol table that some distributions leave in stripped programs.
 *
 * Fedora calls it MiniDebugInfo: the section .gnu_debugdata is an ELF file, packed with xz, whose
 * .symtab has the functions that .dynsym lacks.
 */
#ifndef ALLO_SYMBOLS_MINI_DEBUG_H
#define ALLO_SYMBOLS_MINI_DEBUG_H

#include "symbols/elf_file.h"

/*
 * Unpacks the section of `elf`, a file of `file_bytes`.  Returns NULL if there is none, it is
 * damaged or larger than a file of this size should have, memory is short, or liblzma is not
 * installed: it is loaded only for files that have the section.
 */
Elf *allo_mini_debug_open(struct allo_unpacked_debug *unpacked, Elf *elf, uint64_t file_bytes);

#endif
