/*
 * elf_symbols.h - finds symbols and notes of ELF files by name.
 */
#ifndef ALLO_RUN_ELF_SYMBOLS_H
#define ALLO_RUN_ELF_SYMBOLS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

struct allo_elf_symbol {
	const char *name;
	bool is_there;   /* the program defines or imports it */
	bool is_defined; /* the program defines it */
	bool is_needed;  /* the program imports it, and does not run without it */
};

/* Finds dynamic symbols in a 64-bit ELF file.  The file is not trusted: in a damaged one, none is
 * found. */
void allo_elf_find_symbols(int fd, struct allo_elf_symbol *symbols, size_t count);

/* The same for the symbols that strip(1) removes.  False if the file has none. */
bool allo_elf_find_static_symbols(int fd, struct allo_elf_symbol *symbols, size_t count);

/* Whether the program has a note of this owner, such as "Go". */
bool allo_elf_has_note(int fd, const char *owner);

/* Reads the build-id of a program; returns its length, or 0 if it has none. */
size_t allo_elf_build_id(int fd, unsigned char *id, size_t room);

/* Reads the program headers, to be freed. */
bool allo_elf_read_headers(int fd, Elf64_Phdr **headers, size_t *count);

/* Reads up to `len` bytes from offset `at`; returns how many there were. */
size_t allo_elf_read(int fd, unsigned long long at, void *out, size_t len);

#endif
