/*
 * elf_gnu_hash.h - looks symbols up in the section .gnu.hash of an ELF file.
 *
 * Large programs export tens of thousands of symbols.  The hash table, which the dynamic linker
 * uses, finds one of them with three short reads.  The file is not trusted: each look-up reads at
 * most the section.
 */
#ifndef ALLO_RUN_ELF_GNU_HASH_H
#define ALLO_RUN_ELF_GNU_HASH_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

struct allo_elf_hash {
	int fd;
	uint64_t buckets_at, chains_at, end; /* offsets in the file */
	uint32_t bucket_count;
	uint32_t first; /* number of the first symbol in the table; imports come before */
};

/* False if the section is damaged. */
bool allo_elf_hash_open(struct allo_elf_hash *hash, int fd, const Elf64_Shdr *section);

/* The symbols that may have a name, one after the other. */
struct allo_elf_chain {
	const struct allo_elf_hash *hash;
	uint32_t code;   /* hash of the name */
	uint64_t symbol; /* number of the next one; 0: there is none */
};

struct allo_elf_chain allo_elf_hash_look_up(const struct allo_elf_hash *hash, const char *name);

/* False at the end. */
bool allo_elf_chain_next(struct allo_elf_chain *chain, uint64_t *symbol);

#endif
