/*
 * other_memory.h - reads the memory of another process, and the states of its pages.
 *
 * The process is neither written to nor stopped.  Callers read resident pages only: reading others
 * would make them resident.
 */
#ifndef ALLO_LEDGER_OTHER_MEMORY_H
#define ALLO_LEDGER_OTHER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum allo_page_state { ALLO_PAGE_NONE, ALLO_PAGE_RESIDENT, ALLO_PAGE_SWAPPED };

struct allo_other_memory;

/* The two ways into a process; tests and fuzzers have their own. */
struct allo_other_access {
	/* Reads the whole range, or returns false. */
	bool (*read)(const struct allo_other_memory *memory, uint64_t address, void *out,
		     size_t len);
	/* The states of `count` pages, from page number `first` on; false if they are unknown. */
	bool (*states)(const struct allo_other_memory *memory, uint64_t first, size_t count,
		       uint8_t *states);
};

struct allo_other_memory {
	uint64_t pid;
	uint64_t page_size;
	int pagemap;                            /* -1: states of pages are unknown */
	const struct allo_other_access *access; /* NULL: a process */
	const void *context;                    /* for `access` */
};

/* Always succeeds; missing permissions show when memory is read. */
void allo_other_memory_open(struct allo_other_memory *memory, uint64_t pid);
void allo_other_memory_close(struct allo_other_memory *memory);

/* Reads the whole range, or returns false. */
bool allo_other_read(const struct allo_other_memory *memory, uint64_t address, void *out,
		     size_t len);

/* Reads the first two words of each resident page, of at most 512 pages. */
void allo_other_read_heads(const struct allo_other_memory *memory, uint64_t address, size_t count,
			   const uint8_t *states, uint64_t (*words)[2]);

/* The states of `count` pages, from that of `address` on; false if they are unknown. */
bool allo_other_pages(const struct allo_other_memory *memory, uint64_t address, size_t count,
		      uint8_t *states);

/* Resident bytes of a range of whole pages; 0 if they are unknown. */
uint64_t allo_other_resident(const struct allo_other_memory *memory, uint64_t address,
			     uint64_t len);

/* Whether a whole range is resident, so that reading it changes nothing. */
bool allo_other_is_resident(const struct allo_other_memory *memory, uint64_t address, size_t len);

#endif
