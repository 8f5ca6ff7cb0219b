/*
 * other_memory.h - the memory of another process: what is in it, and which pages are there.
 *
 * Nothing is written, nobody is stopped, and only pages that are resident are looked at: reading
 * others would bring them there.
 */
#ifndef ALLO_LEDGER_OTHER_MEMORY_H
#define ALLO_LEDGER_OTHER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum allo_page_state { ALLO_PAGE_NONE, ALLO_PAGE_RESIDENT, ALLO_PAGE_SWAPPED };

struct allo_other_memory {
	uint64_t pid;
	uint64_t page_size;
	int pagemap; /* -1: it cannot be told which pages are there */
};

/* Always succeeds; what may not be read is told when it is. */
void allo_other_memory_open(struct allo_other_memory *memory, uint64_t pid);
void allo_other_memory_close(struct allo_other_memory *memory);

/* All of it, or false. */
bool allo_other_read(const struct allo_other_memory *memory, uint64_t address, void *out,
		     size_t len);

/* The first two words of each of some pages (at most 512) that are resident. */
void allo_other_read_heads(const struct allo_other_memory *memory, uint64_t address, size_t count,
			   const uint8_t *states, uint64_t (*words)[2]);

/* The states of pages from the one that `address` is in; false when they cannot be told. */
bool allo_other_pages(const struct allo_other_memory *memory, uint64_t address, size_t count,
		      uint8_t *states);

/* Resident bytes of a range of whole pages; 0 when they cannot be told. */
uint64_t allo_other_resident(const struct allo_other_memory *memory, uint64_t address,
			     uint64_t len);

/* Whether a whole range is resident, and can be read without harm. */
bool allo_other_is_resident(const struct allo_other_memory *memory, uint64_t address, size_t len);

#endif
