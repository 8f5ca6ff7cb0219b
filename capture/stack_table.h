/*
 * stack_table.h - the numbers of stacks, by their hashes.
 *
 * Anybody may look one up at any time; who adds one has the lock.  When the table is full there is
 * one twice as large, and with each that is added some of the others move there: nobody has to wait
 * for all of them.  Who looks one up just then may not see it: under the lock he will.
 */
#ifndef ALLO_CAPTURE_STACK_TABLE_H
#define ALLO_CAPTURE_STACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALLO_STACK_TABLES = 20 };

/* `id` is there before `hash` is. */
struct allo_stack_node {
	uint64_t hash; /* 0: a free place */
	uint32_t id;
};

/* All zeros: empty. */
struct allo_stack_table {
	struct {
		struct allo_stack_node *nodes; /* open addressing; three quarters full at most */
		size_t capacity;               /* a power of two */
	} tables[ALLO_STACK_TABLES];
	uint32_t first, count; /* those before `first` have nothing any more */
	size_t used;           /* places of the last one */
	size_t moved;          /* places of the one before it that need not be looked at */
};

/* The number, or 0. */
uint32_t allo_stack_table_find(const struct allo_stack_table *table, uint64_t hash);

/* Makes room for one; false when memory is short. */
bool allo_stack_table_make_room(struct allo_stack_table *table);

/* Adds one that is not there, where there is room. */
void allo_stack_table_add(struct allo_stack_table *table, uint64_t hash, uint32_t id);

/* Gives all back. */
void allo_stack_table_done(struct allo_stack_table *table);

#endif
