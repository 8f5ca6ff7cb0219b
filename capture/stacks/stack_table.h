/*
 * stack_table.h - a hash table from hashes of stacks to their ids, read without locks.
 *
 * Any thread may look up at any time; adding needs the lock.  A full table gets a successor of
 * twice its size, and each addition moves a few entries there, so that no thread waits for a
 * complete rehash.  A lookup during a move may miss an entry; under the lock it does not.
 */
#ifndef ALLO_CAPTURE_STACK_TABLE_H
#define ALLO_CAPTURE_STACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALLO_STACK_TABLES = 20 };

/* `id` is written before `hash`. */
struct allo_stack_entry {
	uint64_t hash; /* 0: free */
	uint32_t id;
};

/* All zeros: empty. */
struct allo_stack_table {
	struct {
		struct allo_stack_entry *entries; /* open addressing; three quarters full at most */
		size_t capacity;                  /* a power of two */
	} tables[ALLO_STACK_TABLES];
	uint32_t first, count; /* tables before `first` are empty */
	size_t used;           /* entries of the last table */
	size_t moved;          /* places of the table before it that are moved already */
};

/* The id, or 0. */
uint32_t allo_stack_table_find(const struct allo_stack_table *table, uint64_t hash);

/* Makes room for one more entry; false if there is no memory. */
bool allo_stack_table_make_room(struct allo_stack_table *table);

/* Adds an entry that is not in the table; there must be room for it. */
void allo_stack_table_add(struct allo_stack_table *table, uint64_t hash, uint32_t id);

/* Frees all tables. */
void allo_stack_table_done(struct allo_stack_table *table);

#endif
