/*
 * x86_calls.c - finds a call of unknown code in a function, or in functions that it calls.
 *
 * The search follows branches and direct calls.  Code is unknown to a compiler if it is reached
 * through a pointer, as functions of other libraries are, too: jmp *[rip + displacement] is how the
 * procedure linkage table reaches them.
 */
#include "capture/patch/machine.h"
#include "capture/patch/x86_instruction.h"

enum {
	TARGETS_MAX = 512,        /* more branches and calls than in any simple allocator */
	INSTRUCTIONS_MAX = 65536, /* the same */
	INDIRECT = 0xff,          /* the opcode of indirect calls and jumps */
};

struct search {
	const struct allo_patch_code *code;
	uint64_t targets[TARGETS_MAX]; /* offsets in the code, each once */
	unsigned count;
	unsigned instructions;
	bool has_found;
};

static void add_target(struct search *search, uint64_t offset)
{
	if (offset >= search->code->size) {
		search->has_found = true; /* in another library */
		return;
	}
	for (unsigned i = 0; i < search->count; i++) {
		if (search->targets[i] == offset)
			return;
	}
	if (search->count < TARGETS_MAX)
		search->targets[search->count++] = offset;
	else
		search->has_found = true;
}

static bool is_add(const uint8_t *bytes, const struct allo_x86_instruction *x)
{
	return bytes[x->opcode_at] == 0x01 || bytes[x->opcode_at] == 0x03;
}

/* Whether an indirect jump is a tail call.  That of a switch has an index, or a register to which
 * the distance from a table has just been added. */
static bool is_tail_call(const uint8_t *bytes, const struct allo_x86_instruction *x,
			 bool is_after_add)
{
	uint8_t modrm = bytes[x->opcode_at + 1];
	bool has_index = (modrm & 7) == 4 && (bytes[x->opcode_at + 2] >> 3 & 7) != 4;

	return modrm >> 6 == 3 ? !is_after_add : !has_index;
}

/* Follows the code from an offset on, until it does not go on to the next instruction. */
static void walk(struct search *search, uint64_t at)
{
	struct allo_x86_instruction x;
	bool is_after_add = false;

	for (; !search->has_found && at < search->code->size; at += x.length) {
		const uint8_t *bytes = search->code->bytes + at;

		if (!allo_x86_decode(bytes, search->code->size - at, &x))
			return;
		if (search->instructions++ == INSTRUCTIONS_MAX)
			search->has_found = true;
		if (x.target_at)
			add_target(search,
				   at + x.length + (uint64_t)allo_x86_displacement(bytes, &x));
		else if (x.kind == ALLO_X86_CALL)
			search->has_found = true;
		else if (x.kind == ALLO_X86_END && bytes[x.opcode_at] == INDIRECT)
			search->has_found |= is_tail_call(bytes, &x, is_after_add);
		if (x.kind == ALLO_X86_END || x.kind == ALLO_X86_JUMP)
			return;
		is_after_add = is_add(bytes, &x);
	}
}

bool allo_x86_calls_unknown_code(const struct allo_patch_code *segment, uint64_t function)
{
	static struct search search; /* stacks may be small; see patch.h about threads */

	search = (struct search){ .code = segment };
	add_target(&search, function - segment->address);
	for (unsigned i = 0; i < search.count && !search.has_found; i++)
		walk(&search, search.targets[i]);
	return search.has_found;
}
