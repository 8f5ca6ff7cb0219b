/* machine_x86.c - a jump with a displacement of 32 bits needs 5 bytes. */
#include "capture/patch/machine.h"
#include "capture/patch/x86_instruction.h"

#include <string.h>

enum { JUMP = 5, NEAR = 1024 };

static bool put32(uint8_t *out, int64_t value)
{
	int32_t narrow = (int32_t)value;

	memcpy(out, &narrow, sizeof(narrow));
	return narrow == value;
}

static uint64_t target_of(const struct allo_patch_code *code, size_t at,
			  const struct allo_x86_instruction *x)
{
	return code->address + at + x->length +
	       (uint64_t)allo_x86_displacement(code->bytes + at, x);
}

static uint64_t jump_target(const struct allo_patch_code *code)
{
	struct allo_x86_instruction x;

	if (!allo_x86_decode(code->bytes, code->size, &x) || x.kind != ALLO_X86_JUMP)
		return 0;
	return target_of(code, 0, &x);
}

static size_t function_size(const struct allo_patch_code *code)
{
	struct allo_x86_instruction x;
	size_t at = 0, furthest = 0;

	while (at < code->size && allo_x86_decode(code->bytes + at, code->size - at, &x)) {
		uint64_t target = x.target_at ? target_of(code, at, &x) - code->address : 0;

		at += x.length;
		/* A jump further than that leads to another function. */
		if (x.kind != ALLO_X86_CALL && target > furthest && target < at + NEAR)
			furthest = target;
		if ((x.kind == ALLO_X86_END || x.kind == ALLO_X86_JUMP) && at > furthest)
			break;
	}
	return at;
}

static size_t landing_size(const struct allo_patch_code *code)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return code->size >= sizeof(endbr64) && memcmp(code->bytes, endbr64, sizeof(endbr64)) == 0
		       ? sizeof(endbr64)
		       : 0;
}

static enum allo_patch_refusal check(const struct allo_x86_instruction *x, size_t taken)
{
	if (x->kind == ALLO_X86_CALL)
		return ALLO_PATCH_CALL;
	if (x->kind == ALLO_X86_LOOP)
		return ALLO_PATCH_LOOP;
	if ((x->kind == ALLO_X86_END || x->kind == ALLO_X86_JUMP) && taken + x->length < JUMP)
		return ALLO_PATCH_END;
	return ALLO_PATCH_FINE;
}

/* Copies one instruction; a short branch becomes a long one.  Returns the length of the copy, or 0
 * if the copy cannot reach the data or code that it refers to. */
static size_t move_one(const struct allo_patch_code *code, size_t at,
		       const struct allo_x86_instruction *x, uint8_t *out, uint64_t to)
{
	const uint8_t *bytes = code->bytes + at;
	size_t len = 0;
	int32_t displacement;

	if (x->target_at) {
		uint8_t opcode =
			bytes[x->opcode_at + (x->target_size == 4 && x->kind == ALLO_X86_BRANCH)];

		if (x->kind == ALLO_X86_BRANCH) {
			out[len++] = 0x0f;
			out[len++] = (uint8_t)(0x80 | (opcode & 15));
		} else {
			out[len++] = 0xe9;
		}
		len += 4;
		return put32(out + len - 4, (int64_t)(target_of(code, at, x) - (to + len))) ? len
											    : 0;
	}
	memcpy(out, bytes, x->length);
	if (x->relative_at) {
		memcpy(&displacement, bytes + x->relative_at, sizeof(displacement));
		if (!put32(out + x->relative_at, displacement + (int64_t)(code->address + at - to)))
			return 0;
	}
	return x->length;
}

/* Whether an instruction from `at` on branches to the first `taken` bytes.  A recursive jump to the
 * entry looks like a loop whose registers the replacement would not preserve. */
static bool branches_back(const struct allo_patch_code *code, size_t at, size_t taken)
{
	struct allo_x86_instruction x;

	while (at < code->size) {
		if (!allo_x86_decode(code->bytes + at, code->size - at, &x)) {
			at++; /* data between the instructions */
			continue;
		}
		if (x.target_at && x.kind != ALLO_X86_CALL &&
		    target_of(code, at, &x) - code->address < taken)
			return true;
		at += x.length;
	}
	return false;
}

static enum allo_patch_refusal move(const struct allo_patch_code *code, uint8_t *moved, uint64_t to)
{
	struct allo_x86_instruction x;
	size_t taken = 0, len = 0, one;

	while (taken < JUMP) {
		enum allo_patch_refusal refusal;

		if (!allo_x86_decode(code->bytes + taken, code->size - taken, &x))
			return ALLO_PATCH_UNKNOWN;
		refusal = check(&x, taken);
		if (refusal != ALLO_PATCH_FINE)
			return refusal;
		one = move_one(code, taken, &x, moved + len, to + len);
		if (one == 0)
			return ALLO_PATCH_FAR;
		len += one;
		taken += x.length;
	}
	if (branches_back(code, 0, taken))
		return ALLO_PATCH_BRANCH;
	moved[len] = 0xe9;
	return put32(moved + len + 1, (int64_t)(code->address + taken - (to + len + JUMP)))
		       ? ALLO_PATCH_FINE
		       : ALLO_PATCH_FAR;
}

/* mov $sixth,%r9; jmp *[rip], and the address behind it. */
static void write_way(uint8_t *out, uint64_t to, const uint64_t *sixth)
{
	static const uint8_t set[] = { 0x49, 0xb9 }, jump[] = { 0xff, 0x25, 0, 0, 0, 0 };

	if (sixth) {
		memcpy(out, set, sizeof(set));
		memcpy(out + sizeof(set), sixth, sizeof(*sixth));
		out += sizeof(set) + sizeof(*sixth);
	}
	memcpy(out, jump, sizeof(jump));
	memcpy(out + sizeof(jump), &to, sizeof(to));
}

static size_t write_entry(uint8_t *out, uint64_t from, uint64_t to)
{
	out[0] = 0xe9;
	put32(out + 1, (int64_t)(to - (from + JUMP)));
	return JUMP;
}

const struct allo_machine allo_machine_x86 = {
	.reach = 0x7f000000,
	.jump_target = jump_target,
	.function_size = function_size,
	.landing_size = landing_size,
	.move = move,
	.calls_unknown_code = allo_x86_calls_unknown_code,
	.write_way = write_way,
	.write_entry = write_entry,
};
