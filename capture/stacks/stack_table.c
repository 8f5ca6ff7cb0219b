/* stack_table.c - open addressing, and moving entries to a larger table step by step. */
#include "capture/stacks/stack_table.h"
#include "base/assert.h"
#include "capture/file/recorder.h"
#include "capture/system.h"

enum {
	FIRST_CAPACITY = 1 << 12,
	MOVED_AT_ONCE =
		8, /* places per addition: all are moved long before the new table is full */
};

static size_t size_of(const struct allo_stack_table *table, uint32_t number)
{
	return table->tables[number].capacity * sizeof(struct allo_stack_entry);
}

static void count_own(size_t bytes)
{
	allo_count(&allo_recorder->head->counts.own_bytes, bytes);
}

static uint32_t find_in(const struct allo_stack_entry *entries, size_t capacity, uint64_t hash)
{
	for (size_t at = hash & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
		uint64_t found = __atomic_load_n(&entries[at].hash, __ATOMIC_ACQUIRE);

		if (found == hash)
			return entries[at].id;
		if (found == 0)
			return 0;
	}
}

uint32_t allo_stack_table_find(const struct allo_stack_table *table, uint64_t hash)
{
	uint32_t at = __atomic_load_n(&table->count, __ATOMIC_ACQUIRE), id = 0;

	while (id == 0 && at > __atomic_load_n(&table->first, __ATOMIC_RELAXED)) {
		at--;
		id = find_in(table->tables[at].entries, table->tables[at].capacity, hash);
	}
	return id;
}

static void put(struct allo_stack_table *table, uint64_t hash, uint32_t id)
{
	struct allo_stack_entry *entries = table->tables[table->count - 1].entries;
	size_t mask = table->tables[table->count - 1].capacity - 1, at = hash & mask;

	ALLO_ASSERT(hash != 0 && id != 0 && table->used <= mask);
	while (entries[at].hash != 0)
		at = (at + 1) & mask;
	entries[at].id = id;
	__atomic_store_n(&entries[at].hash, hash, __ATOMIC_RELEASE);
	table->used++;
}

/* Frees the memory but not the addresses: a concurrent lookup reads zeros and finds nothing. */
static void empty_first(struct allo_stack_table *table)
{
	size_t size = size_of(table, table->first);

	ALLO_SYSCALL3(SYS_madvise, table->tables[table->first].entries, size, MADV_DONTNEED);
	__atomic_store_n(&table->first, table->first + 1, __ATOMIC_RELAXED);
	count_own(0 - size);
}

static void move_some(struct allo_stack_table *table)
{
	const struct allo_stack_entry *entries = table->tables[table->first].entries;
	size_t end = table->moved + MOVED_AT_ONCE;

	for (; table->moved < end; table->moved++) {
		if (entries[table->moved].hash != 0)
			put(table, entries[table->moved].hash, entries[table->moved].id);
	}
	if (end == table->tables[table->first].capacity)
		empty_first(table);
}

bool allo_stack_table_make_room(struct allo_stack_table *table)
{
	uint32_t number = table->count;
	size_t capacity = (size_t)FIRST_CAPACITY << number;
	struct allo_stack_entry *entries;

	if (number > 0 && table->used < table->tables[number - 1].capacity / 4 * 3)
		return true;
	entries = number < ALLO_STACK_TABLES ? allo_map_private(capacity * sizeof(*entries)) : NULL;
	if (!entries)
		return false;
	table->tables[number].entries = entries;
	table->tables[number].capacity = capacity;
	table->used = table->moved = 0;
	__atomic_store_n(&table->count, number + 1, __ATOMIC_RELEASE);
	count_own(size_of(table, number));
	return true;
}

void allo_stack_table_add(struct allo_stack_table *table, uint64_t hash, uint32_t id)
{
	put(table, hash, id);
	if (table->first + 1 < table->count)
		move_some(table);
}

void allo_stack_table_done(struct allo_stack_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		allo_unmap(table->tables[i].entries, size_of(table, i));
	*table = (struct allo_stack_table){ 0 };
}
