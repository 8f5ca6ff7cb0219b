/*
 * machine_arm64.c - a jump is one instruction, so one instruction is moved.
 *
 * Instructions that refer to their own address become loads of an absolute address, which lies
 * behind the moved code.  x16 and x17 are free at the entry of a function.
 */
#include "capture/patch/machine.h"

#include <string.h>
#include <sys/auxv.h>

enum {
	WORD = 4,
	NEAR = 4096,
	WAY = 16,       /* bytes of a jump to any address */
	LITERAL_AT = 24 /* offset of the address that a moved instruction loads */
};

enum {
	BR_X16 = 0xd61f0200,
	LDR_X16_8 = 0x58000050, /* ldr x16, 8 bytes further */
	LDR_X5_20 = 0x580000a5, /* ldr x5, 20 bytes further */
	BTI = 0xd503241f,       /* bti; bits 6 and 7 are its targets */
	PACIASP = 0xd503233f,
	PACIBSP = 0xd503237f,
	NOP = 0xd503201f,
};

static uint32_t word_at(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static void put_word(uint8_t *out, uint32_t word)
{
	memcpy(out, &word, sizeof(word));
}

static int64_t signed_field(uint32_t word, unsigned low, unsigned bits)
{
	return (int64_t)((uint64_t)word << (64 - low - bits)) >> (64 - bits);
}

static bool is_branch(uint32_t word)
{
	return (word & 0xfc000000) == 0x14000000;
}

/* b.cond, cbz, cbnz. */
static bool is_branch_19(uint32_t word)
{
	return (word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000;
}

/* tbz, tbnz. */
static bool is_branch_14(uint32_t word)
{
	return (word & 0x7e000000) == 0x36000000;
}

/* bl, blr and its forms with authentication. */
static bool is_call(uint32_t word)
{
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfefff000) == 0xd63f0000;
}

static bool is_adr(uint32_t word)
{
	return (word & 0x1f000000) == 0x10000000;
}

static bool is_load_literal(uint32_t word)
{
	return (word & 0x3b000000) == 0x18000000;
}

static uint64_t branch_target(uint32_t word, uint64_t address)
{
	if (is_branch(word))
		return address + (uint64_t)signed_field(word, 0, 26) * WORD;
	if (is_branch_14(word))
		return address + (uint64_t)signed_field(word, 5, 14) * WORD;
	return address + (uint64_t)signed_field(word, 5, 19) * WORD;
}

static uint64_t jump_target(const struct allo_patch_code *code)
{
	uint32_t word = code->size >= WORD ? word_at(code->bytes) : 0;

	return is_branch(word) ? branch_target(word, code->address) : 0;
}

/* ret, br and their forms with authentication; brk, udf. */
static bool is_end(uint32_t word)
{
	return (word & 0xfefff000) == 0xd61f0000 || (word & 0xfffff000) == 0xd65f0000 ||
	       (word & 0xffe0001f) == 0xd4200000 || word >> 16 == 0;
}

static bool is_conditional(uint32_t word)
{
	return is_branch_14(word) || is_branch_19(word);
}

static size_t function_size(const struct allo_patch_code *code)
{
	uint64_t furthest = 0;

	for (size_t at = 0; at + WORD <= code->size; at += WORD) {
		uint32_t word = word_at(code->bytes + at);
		uint64_t target = is_branch(word) || is_conditional(word)
					  ? branch_target(word, code->address + at) - code->address
					  : 0;

		/* A jump further than that leads to another function. */
		if (target > furthest && target < at + NEAR)
			furthest = target;
		if ((is_end(word) || is_branch(word)) && at + WORD > furthest)
			return at + WORD;
	}
	return code->size;
}

static size_t landing_size(const struct allo_patch_code *code)
{
	return code->size >= WORD && (word_at(code->bytes) & ~0xc0u) == BTI ? WORD : 0;
}

static void write_jump(uint8_t *out, uint64_t to)
{
	put_word(out, LDR_X16_8);
	put_word(out + WORD, BR_X16);
	memcpy(out + 8, &to, sizeof(to));
}

static void write_way(uint8_t *out, uint64_t to, const uint64_t *sixth)
{
	if (sixth) {
		put_word(out, LDR_X5_20);
		memcpy(out + 20, sixth, sizeof(*sixth));
		out += WORD;
	}
	write_jump(out, to);
}

/* ldr with the absolute address of a literal; `moved` has the address behind the way. */
static void load_register(uint8_t *moved, unsigned number, uint64_t value)
{
	put_word(moved, 0x58000000 | (LITERAL_AT + 0u) / WORD << 5 | number);
	memcpy(moved + LITERAL_AT, &value, sizeof(value));
}

static size_t move_adr(uint32_t word, uint64_t address, uint8_t *moved)
{
	uint64_t offset = (uint64_t)signed_field(word, 5, 19) << 2 | (word >> 29 & 3);
	bool is_page = word >> 31;

	load_register(moved, word & 31,
		      is_page ? (address & ~(uint64_t)4095) + (offset << 12) : address + offset);
	return WORD;
}

/* The load through x17 that does the same as a load of a literal. */
static uint32_t load_through_x17(uint32_t word)
{
	/* By bits 31, 30 and 26: 32, 64 and sign-extended 32 bits, prefetch; vectors of 4, 8, 16.
	 */
	static const uint32_t loads[2][4] = {
		{ 0xb9400000, 0xf9400000, 0xb9800000, NOP },
		{ 0xbd400000, 0xfd400000, 0x3dc00000, 0 },
	};
	uint32_t load = loads[word >> 26 & 1][word >> 30];

	return load == NOP || load == 0 ? load : load | 17 << 5 | (word & 31);
}

static size_t move_load(uint32_t word, uint64_t address, uint8_t *moved)
{
	uint32_t load = load_through_x17(word);

	if (load == 0)
		return 0;
	load_register(moved, 17, address + (uint64_t)signed_field(word, 5, 19) * WORD);
	put_word(moved + WORD, load);
	return 2 * (size_t)WORD;
}

/* The branch jumps over the way back to a way to its target. */
static void move_branch(uint32_t word, uint64_t address, uint8_t *moved)
{
	unsigned bits = is_branch_14(word) ? 14 : 19;
	uint32_t field = ((1u << bits) - 1) << 5;

	put_word(moved, (word & ~field) | (WORD + WAY) / WORD << 5);
	write_jump(moved + WORD, address + WORD);
	write_jump(moved + WORD + WAY, branch_target(word, address));
}

/* A branch to the first instruction looks like a loop whose registers the replacement would not
 * preserve. */
static bool branches_back(const struct allo_patch_code *code)
{
	for (size_t at = 0; at + WORD <= code->size; at += WORD) {
		uint32_t word = word_at(code->bytes + at);

		if ((is_branch(word) || is_conditional(word)) &&
		    branch_target(word, code->address + at) == code->address)
			return true;
	}
	return false;
}

/* paciasp is also a landing instruction, for processors that demand one. */
static bool is_needed_landing(uint32_t word)
{
#if defined(__aarch64__) && defined(HWCAP2_BTI)
	return (word == PACIASP || word == PACIBSP) && getauxval(AT_HWCAP2) & HWCAP2_BTI;
#else
	(void)word;
	return false;
#endif
}

static enum allo_patch_refusal move(const struct allo_patch_code *code, uint8_t *moved, uint64_t to)
{
	uint32_t word = code->size >= WORD ? word_at(code->bytes) : 0;
	size_t len = WORD;

	(void)to;
	if (is_call(word))
		return ALLO_PATCH_CALL;
	if (is_end(word))
		return ALLO_PATCH_END;
	if (is_needed_landing(word))
		return ALLO_PATCH_LANDING;
	if (branches_back(code))
		return ALLO_PATCH_BRANCH;
	if (is_conditional(word)) {
		move_branch(word, code->address, moved);
		return ALLO_PATCH_FINE;
	}
	if (is_branch(word)) {
		write_jump(moved, branch_target(word, code->address));
		return ALLO_PATCH_FINE;
	}
	if (is_adr(word))
		len = move_adr(word, code->address, moved);
	else if (is_load_literal(word))
		len = move_load(word, code->address, moved);
	else
		put_word(moved, word);
	if (len == 0)
		return ALLO_PATCH_UNKNOWN;
	write_jump(moved + len, code->address + WORD);
	return ALLO_PATCH_FINE;
}

static size_t write_entry(uint8_t *out, uint64_t from, uint64_t to)
{
	put_word(out, 0x14000000 | ((uint32_t)((to - from) / WORD) & 0x3ffffff));
	return WORD;
}

const struct allo_machine allo_machine_arm64 = {
	.reach = 127 << 20,
	.jump_target = jump_target,
	.function_size = function_size,
	.landing_size = landing_size,
	.move = move,
	.write_way = write_way,
	.write_entry = write_entry,
};
