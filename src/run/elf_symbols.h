/*
 * elf_symbols.h - the names that a program shares with its libraries: its dynamic symbols.
 */
#ifndef ALLO_RUN_ELF_SYMBOLS_H
#define ALLO_RUN_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

struct allo_elf_symbol {
	const char *name;
	bool is_there;   /* the program has it, or wants it of a library */
	bool is_defined; /* it has it */
};

/* Looks for some of them in an ELF file of 64 bits.  Nothing is found in one that is damaged: it
 * comes from anybody. */
void allo_elf_find_symbols(int fd, struct allo_elf_symbol *symbols, size_t count);

/* Bytes of a file from `at` on, as many as there are. */
size_t allo_elf_read(int fd, unsigned long long at, void *out, size_t len);

#endif
