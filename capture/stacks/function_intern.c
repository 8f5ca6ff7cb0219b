/* function_intern.c - a table of hashes of names; the names themselves are in the file only. */
#include "capture/stacks/function_intern.h"
#include "capture/file/metadata_stream.h"
#include "capture/stacks/stack_intern.h"
#include "capture/stacks/stack_table.h"
#include "capture/system.h"

#include <string.h>

/* Lies in memory that a child made by fork finds zeroed. */
struct functions {
	struct allo_stack_table table; /* a number by the hash of names and line */
	uint32_t count;
};

static struct functions *functions;

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t len)
{
	for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t), bytes += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes, sizeof(word));
		hash = allo_stack_hash(hash, word);
	}
	for (; len > 0; len--)
		hash = allo_stack_hash(hash, (uint8_t)*bytes++);
	return hash;
}

static uint64_t hash_of(const struct allo_function_text *function)
{
	uint64_t hash = allo_stack_hash((uint64_t)function->language << 32 | function->first_line,
					(uint64_t)function->name_len << 32 | function->file_len);

	hash = hash_bytes(hash, function->name, function->name_len);
	hash = hash_bytes(hash, function->file, function->file_len);
	return hash ? hash : 1;
}

static bool write_function(uint32_t number, const struct allo_function_text *function)
{
	struct allo_wire_slot *tail = allo_stacks_metadata();
	uint8_t *at = allo_metadata_begin(tail);

	if (!at)
		return false;
	at = allo_varint_put(at, number);
	at = allo_varint_put(at, function->language);
	at = allo_varint_put(at, function->first_line);
	at = allo_varint_put(at, function->file_len);
	memcpy(at, function->file, function->file_len);
	at += function->file_len;
	memcpy(at, function->name, function->name_len);
	allo_metadata_end(tail, ALLO_FACT_FUNCTION, at + function->name_len);
	return true;
}

/* A number is used up before it is written: a hook that a signal handler leaves by a jump leaves
 * no number that two functions share. */
static uint32_t add(const struct allo_function_text *function, uint64_t hash)
{
	uint32_t number = allo_stack_table_find(&functions->table, hash);

	if (number > 0)
		return number;
	if (!allo_stack_table_make_room(&functions->table))
		return 0;
	number = ++functions->count;
	if (!write_function(number, function))
		return 0;
	allo_stack_table_add(&functions->table, hash, number);
	return number;
}

uint32_t allo_function_intern(const struct allo_function_text *function)
{
	uint64_t hash = hash_of(function);
	uint32_t number = functions ? allo_stack_table_find(&functions->table, hash) : 0;

	if (number > 0 || !allo_stacks_lock(false))
		return number;
	if (!functions)
		functions = allo_map_private(sizeof(*functions));
	number = functions ? add(function, hash) : 0;
	allo_stacks_unlock();
	return number;
}

void allo_functions_end(bool is_left)
{
	if (functions && !is_left) {
		allo_stack_table_done(&functions->table);
		memset(functions, 0, sizeof(*functions));
		return;
	}
	functions = NULL;
}
