/*
 * built_in_unnamed.c - recognizes the functions by the place in the table that they call.
 *
 * The order of the table: malloc, the same without a handler for failures, calloc, the same
 * without, ..., realloc, the same without, free, ...  New for nothrow is malloc without a handler.
 * Further back are functions for alignments: realloc, the same without, free; and malloc without
 * two places before the former.
 *
 * An exported function may do more than its call.  One without a name passes its arguments on, and
 * clears the next one or two, which have no meaning here.
 */
#include "capture/hooks/built_in_unnamed.h"

#ifdef __x86_64__
#include "capture/patch/patch.h"
#include "capture/patch/x86_instruction.h"

#include <string.h>

enum {
	PLACE = sizeof(void *), /* bytes of a place in the table */
	ALIGNMENT = 16,         /* of functions */
	REACH = 16 << 10,       /* bytes of code: they are in one source file */
	LONGEST = 256,          /* bytes of a function before its call */
};

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R12 = 12, NO_REGISTER = 16 };

static const uint8_t argument_registers[] = { RDI, RSI, RDX, RCX, R8, R9 };

/* A call through the table. */
struct way {
	uint64_t table;   /* address of the pointer to the table; 0: not seen yet */
	int32_t place;    /* offset in the table */
	uint32_t cleared; /* registers, as bits */
	bool is_plain;    /* the function does nothing else */
};

/* An instruction with two operands. */
struct operands {
	uint8_t opcode;
	bool is_wide, is_memory, is_relative;
	uint8_t left, right; /* registers: `right` is the base of an address */
	int32_t displacement;
};

/* False if the instruction has no such operands, or an index. */
static bool read_operands(const uint8_t *code, const struct allo_x86_instruction *x,
			  struct operands *read)
{
	uint8_t rex = x->opcode_at > 0 ? code[x->opcode_at - 1] : 0;
	const uint8_t *at = code + x->opcode_at + 1;
	uint8_t mode = *at >> 6;

	if ((rex & 0xf0) != 0x40)
		rex = 0;
	*read = (struct operands){
		.opcode = code[x->opcode_at],
		.is_wide = rex & 8,
		.is_memory = mode != 3,
		.is_relative = mode == 0 && (*at & 7) == 5,
		.left = (uint8_t)((*at >> 3 & 7) | (rex & 4 ? 8 : 0)),
		.right = (uint8_t)((*at & 7) | (rex & 1 ? 8 : 0)),
	};
	if (read->is_memory && (*at++ & 7) == RSP && (*at & 0x3f) != 0x24)
		return false;
	if (read->is_memory && (read->right & 7) == RSP)
		at++;
	if (read->is_relative || mode == 2)
		memcpy(&read->displacement, at, sizeof(read->displacement));
	else if (mode == 1)
		read->displacement = (int8_t)*at;
	return true;
}

/* The state of reading the instructions of a function. */
struct reader {
	struct way way;
	uint8_t table, target; /* registers with the table, and with a function of it */
};

/* push %rbp; pop %rbp; mov %rsp,%rbp; endbr64 */
static bool is_frame(const uint8_t *code, size_t len)
{
	static const uint8_t move[] = { 0x48, 0x89, 0xe5 }, landing[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return (len == 1 && (*code == 0x55 || *code == 0x5d)) ||
	       (len == sizeof(move) && memcmp(code, move, len) == 0) ||
	       (len == sizeof(landing) && memcmp(code, landing, len) == 0);
}

/* Whether the operand is in the table. */
static bool is_place(const struct reader *reader, const struct operands *operands)
{
	return operands->is_memory && !operands->is_relative && operands->right == reader->table;
}

/* Takes an instruction; true if it ends the search. */
static bool take(struct reader *reader, uint64_t address, const struct allo_x86_instruction *x,
		 const struct operands *operands)
{
	struct way *way = &reader->way;

	if (operands->opcode == 0x8b && operands->is_wide && operands->is_relative && !way->table) {
		way->table = address + x->length + (uint64_t)(int64_t)operands->displacement;
		reader->table = operands->left;
	} else if (operands->opcode == 0x8b && operands->is_wide && is_place(reader, operands)) {
		way->place = operands->displacement;
		reader->target = operands->left;
	} else if ((operands->opcode == 0x31 || operands->opcode == 0x33) && !operands->is_memory &&
		   operands->left == operands->right) {
		way->cleared |= 1U << operands->left;
	} else if (operands->opcode == 0xff && (operands->left & 6) != 0 &&
		   is_place(reader, operands)) {
		way->place = operands->displacement;
		way->is_plain &= (operands->left & 7) == 4;
		return true;
	} else if (operands->opcode == 0xff && !operands->is_memory &&
		   operands->right == reader->target) {
		way->is_plain &= (operands->left & 7) == 4;
		return true;
	} else {
		way->is_plain = false;
	}
	return false;
}

/* Reads a function up to its call through a table; false if there is none. */
static bool read_way(uint64_t address, struct way *way)
{
	struct reader reader = { .way.is_plain = true,
				 .table = NO_REGISTER,
				 .target = NO_REGISTER };
	struct allo_x86_instruction x;
	struct operands operands;
	uint64_t end = address + LONGEST;

	for (uint64_t next; address < end; address = next) {
		const uint8_t *code = (const void *)address;

		if (!allo_x86_decode(code, end - address, &x))
			return false;
		next = address + x.length;
		if (x.kind == ALLO_X86_JUMP) {
			/* The code may end here, or go on behind it. */
			next += (uint64_t)allo_x86_displacement(code, &x);
			reader.way.is_plain = false;
			if (next <= address)
				return false;
			continue;
		}
		if (is_frame(code, x.length))
			continue;
		if (x.length < x.opcode_at + 2 || !read_operands(code, &x, &operands)) {
			reader.way.is_plain = false;
		} else if (take(&reader, address, &x, &operands)) {
			*way = reader.way;
			return true;
		}
		if (x.kind == ALLO_X86_END)
			return false;
	}
	return false;
}

/* Whether a function passes on this number of arguments. */
static bool passes(const struct way *way, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (way->cleared >> argument_registers[i] & 1)
			return false;
	}
	return way->cleared >> argument_registers[count] & 1;
}

/* Exported functions of the table. */
enum { MALLOC, CALLOC, REALLOC, FREE, NEW_NOTHROW, EXPORTED };

static const char *const names[EXPORTED] = { "malloc", "calloc", "realloc", "free",
					     "_ZnwmRKSt9nothrow_t" };

struct shim {
	uint64_t functions[EXPORTED];
	struct way ways[EXPORTED];
};

static uint64_t find_function(const struct allo_built_in_search *search, const char *name)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct allo_built_in_candidate *candidate = &search->all[i];

		if (!candidate->prefix[0] && strcmp(candidate->function->name, name) == 0)
			return (uint64_t)allo_patch_target((const void *)candidate->symbol.address);
	}
	return 0;
}

/* Whether the exported functions are of this form. */
static bool find_shim(const struct allo_built_in_search *search, struct shim *shim)
{
	const struct way *ways = shim->ways;

	for (unsigned i = 0; i < EXPORTED; i++) {
		shim->functions[i] = find_function(search, names[i]);
		if (shim->functions[i] == 0 || !read_way(shim->functions[i], &shim->ways[i]) ||
		    ways[i].table != ways[MALLOC].table)
			return false;
	}
	return ways[FREE].is_plain && ways[NEW_NOTHROW].is_plain &&
	       ways[NEW_NOTHROW].place == ways[MALLOC].place + PLACE &&
	       ways[CALLOC].place == ways[MALLOC].place + 2 * PLACE;
}

/* A function without a name, or with one. */
struct found {
	uint64_t address;
	struct way way;
};

enum { FOUND_MOST = 64 };

struct scan {
	struct found all[FOUND_MOST];
	size_t count;
};

/* Finds the functions that only call through the table, between the exported ones. */
static void scan_code(const struct shim *shim, struct scan *scan)
{
	uint64_t lowest = UINT64_MAX, highest = 0;

	for (unsigned i = 0; i < EXPORTED; i++) {
		lowest = shim->functions[i] < lowest ? shim->functions[i] : lowest;
		highest = shim->functions[i] > highest ? shim->functions[i] : highest;
	}
	scan->count = 0;
	if (highest - lowest > REACH)
		return;
	for (uint64_t at = lowest & -ALIGNMENT; at < highest && scan->count < FOUND_MOST;
	     at += ALIGNMENT) {
		struct found *found = &scan->all[scan->count];

		found->address = at;
		scan->count += read_way(at, &found->way) && found->way.is_plain &&
			       found->way.table == shim->ways[MALLOC].table;
	}
}

/* The function for a place in the table; 0: there is none with as many arguments, or several. */
static uint64_t find_by_place(const struct scan *scan, int32_t place, unsigned arguments)
{
	uint64_t address = 0;

	for (size_t i = 0; i < scan->count; i++) {
		if (scan->all[i].way.place != place || !passes(&scan->all[i].way, arguments))
			continue;
		if (address)
			return 0;
		address = scan->all[i].address;
	}
	return address;
}

static void add(struct allo_built_in_search *search, const char *name, uint64_t address)
{
	struct allo_built_in_candidate candidate = { .symbol = { address, 0, true } };

	for (size_t i = 0; i < search->count; i++) {
		if (search->all[i].symbol.address == address)
			return;
	}
	candidate.function = allo_built_in_function_find(name, &candidate.prefix);
	if (!address || search->count == ALLO_BUILT_IN_MAX)
		return;
	search->all[search->count++] = candidate;
	search->has_unnamed = true;
}

/* Those for alignments, if there are all of them.  Only realloc has three arguments. */
static void add_aligned(struct allo_built_in_search *search, const struct shim *shim,
			const struct scan *scan)
{
	for (size_t i = 0; i < scan->count; i++) {
		const struct found *found = &scan->all[i];
		uint64_t allocate = find_by_place(scan, found->way.place - 2 * PLACE, 2);
		uint64_t release = find_by_place(scan, found->way.place + PLACE, 1);

		if (found->way.place <= shim->ways[FREE].place || !passes(&found->way, 3) ||
		    !allocate || !release)
			continue;
		add(search, "malloc", allocate);
		add(search, "realloc", found->address);
		add(search, "free", release);
		return;
	}
}

void allo_built_in_find_unnamed(struct allo_built_in_search *search)
{
	struct scan scan;
	struct shim shim;

	if (!find_shim(search, &shim))
		return;
	scan_code(&shim, &scan);
	add(search, "calloc", find_by_place(&scan, shim.ways[CALLOC].place + PLACE, 2));
	if (shim.ways[FREE].place != shim.ways[REALLOC].place + PLACE)
		add(search, "realloc", find_by_place(&scan, shim.ways[REALLOC].place + PLACE, 2));
	add_aligned(search, &shim, &scan);
}

#else

void allo_built_in_find_unnamed(struct allo_built_in_search *search)
{
	(void)search;
}

#endif
