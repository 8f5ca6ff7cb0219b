/* code_rule.c - follows the instructions that move the stack pointer. */
#include "capture/stacks/code_rule.h"
#include "capture/stacks/modules.h"
#include "capture/stacks/program_headers.h"

#include <link.h>
#include <string.h>

#if defined(__x86_64__)

#include "capture/patch/x86_instruction.h"

enum {
	TARGETS = 256,       /* of branches that are remembered */
	AHEAD = 16,          /* bytes that an instruction may have */
	ALIGNMENT = 16,      /* bytes; of functions */
	CODE_MAX = 64 << 10, /* bytes: the functions of musl are far smaller */
};

/* The frame before an instruction. */
struct frame {
	int32_t size;    /* from the stack pointer to the caller's: the CFA; 0: not known */
	int32_t fp;      /* of the saved frame pointer, from the CFA; 0: not saved */
	uint8_t has_fp;  /* the frame pointer points to the saved one */
	uint8_t is_last; /* the frame pointer was cleared, as the ABI asks of the outermost frame */
};

static const struct frame at_entry = { .size = 8 };

struct walk {
	const uint8_t *code;
	size_t at, first_size;
	struct frame now;
	struct frame body;       /* at the last conditional branch: not in an epilogue */
	size_t furthest;         /* target of a branch in a function that has a frame */
	enum allo_x86_kind last; /* of the instruction before, without padding */
	bool is_padded;          /* padding came after it */
	struct {
		uint32_t at;
		struct frame frame;
	} targets[TARGETS];
};

static int32_t number_at(const uint8_t *code, bool is_wide)
{
	int32_t number;

	if (!is_wide)
		return (int8_t)code[0];
	memcpy(&number, code, sizeof(number));
	return number;
}

static void grow(struct frame *frame, int32_t bytes)
{
	frame->size = frame->size ? frame->size + bytes : 0;
	if (frame->size < 8)
		frame->size = 0;
}

static void push(struct frame *frame, bool is_fp)
{
	grow(frame, 8);
	if (is_fp && frame->fp == 0)
		frame->fp = -frame->size;
}

static void pop(struct frame *frame, bool is_fp)
{
	if (is_fp && frame->fp == -frame->size)
		frame->fp = 0;
	grow(frame, -8);
}

/* After the frame pointer has become the stack pointer. */
static void return_to_fp(struct frame *frame)
{
	frame->size = frame->has_fp ? 16 : 0;
}

/* Instructions with a ModRM byte whose operand or result is the stack pointer, or that set up a
 * frame pointer.  `plain`: no prefix extends the registers. */
static void take_operands(struct frame *frame, const uint8_t *opcode, bool plain)
{
	uint8_t modrm = opcode[1], to = modrm & 7, reg = modrm >> 3 & 7;
	bool is_wide = opcode[0] == 0x81;

	if (!plain)
		return;
	switch (opcode[0]) {
	case 0x81:
	case 0x83:
		if (modrm == 0xec)
			grow(frame, number_at(opcode + 2, is_wide));
		else if (modrm == 0xc4)
			grow(frame, -number_at(opcode + 2, is_wide));
		else if (modrm >= 0xc0 && to == 4 && reg != 7)
			frame->size = 0; /* as "and" does, to align it */
		break;
	case 0x8d: /* lea */
		if (modrm == 0x64 && opcode[2] == 0x24)
			grow(frame, -number_at(opcode + 3, false));
		else if (modrm == 0xa4 && opcode[2] == 0x24)
			grow(frame, -number_at(opcode + 3, true));
		else if (reg == 4)
			frame->size = 0;
		break;
	case 0x89:
		if (modrm == 0xe5)
			frame->has_fp = frame->size == 16 && frame->fp == -16;
		else if (modrm == 0xec)
			return_to_fp(frame);
		else if (modrm >= 0xc0 && to == 4)
			frame->size = 0;
		break;
	case 0x31:
		frame->is_last |= modrm == 0xed && frame->fp == 0;
		break;
	}
}

static void take_instruction(struct frame *frame, const uint8_t *code,
			     const struct allo_x86_instruction *instruction)
{
	const uint8_t *opcode = code + instruction->opcode_at;
	uint8_t rex = instruction->opcode_at && (opcode[-1] & 0xf0) == 0x40 ? opcode[-1] : 0;

	if (opcode[0] >= 0x50 && opcode[0] < 0x58) {
		push(frame, opcode[0] == 0x55 && !(rex & 1));
	} else if (opcode[0] >= 0x58 && opcode[0] < 0x60) {
		pop(frame, opcode[0] == 0x5d && !(rex & 1));
	} else if (opcode[0] == 0x68 || opcode[0] == 0x6a ||
		   (opcode[0] == 0xff && (opcode[1] >> 3 & 7) == 6)) {
		push(frame, false);
	} else if (opcode[0] == 0x8f && (opcode[1] >> 3 & 7) == 0) {
		pop(frame, false);
	} else if (opcode[0] == 0xc9) { /* leave */
		return_to_fp(frame);
		pop(frame, true);
	} else {
		take_operands(frame, opcode, (rex & 5) == 0);
	}
}

/* Branches. */

/* Remembers the frame at the target of a branch.  A branch without a frame may call another
 * function. */
static void note_target(struct walk *walk, int64_t target)
{
	size_t i = (size_t)target % TARGETS;

	if (target <= (int64_t)walk->at || target > CODE_MAX)
		return;
	if (walk->now.size != at_entry.size && (size_t)target > walk->furthest)
		walk->furthest = (size_t)target;
	walk->targets[i].at = (uint32_t)target;
	walk->targets[i].frame = walk->now;
}

static bool take_target(struct walk *walk)
{
	size_t i = walk->at % TARGETS;

	if (walk->at == 0 || walk->targets[i].at != walk->at)
		return false;
	walk->now = walk->targets[i].frame;
	return true;
}

/* Functions that are not exported. */

static bool is_padding(const uint8_t *opcode)
{
	return opcode[0] == 0x90 || (opcode[0] == 0x0f && opcode[1] == 0x1f);
}

/* Whether an instruction makes room for a frame: a push, or "sub $number, %rsp". */
static bool makes_frame(const uint8_t *code)
{
	if (code[0] == 0x41)
		code++;
	return (code[0] >= 0x50 && code[0] < 0x58) ||
	       (code[0] == 0x48 && (code[1] == 0x81 || code[1] == 0x83) && code[2] == 0xec);
}

/* Whether another function begins here.  Within a function, aligned code behind a jump is the
 * target of a branch or does not make a frame. */
static bool is_other_function(const struct walk *walk)
{
	const uint8_t *code = walk->code + walk->at;

	if (walk->at < walk->first_size || (uintptr_t)code % ALIGNMENT != 0)
		return false;
	if (walk->last == ALLO_X86_CALL) /* of a function that does not return */
		return walk->is_padded && makes_frame(code);
	return (walk->last == ALLO_X86_JUMP || walk->last == ALLO_X86_END) &&
	       (makes_frame(code) || walk->at > walk->furthest);
}

static void take_place(struct walk *walk)
{
	if (take_target(walk) || !is_other_function(walk))
		return;
	walk->now = walk->body = at_entry;
	walk->furthest = 0;
}

static bool step(struct walk *walk)
{
	const uint8_t *code = walk->code + walk->at;
	struct allo_x86_instruction instruction;

	if (!allo_x86_decode(code, AHEAD, &instruction))
		return false;
	if (is_padding(code + instruction.opcode_at)) {
		walk->is_padded = true;
		walk->at += instruction.length;
		return true;
	}
	take_place(walk);
	walk->at += instruction.length;
	walk->is_padded = false;
	walk->last = instruction.kind;
	if (instruction.kind == ALLO_X86_BRANCH || instruction.kind == ALLO_X86_JUMP)
		note_target(walk, (int64_t)walk->at + allo_x86_displacement(code, &instruction));
	if (instruction.kind == ALLO_X86_BRANCH)
		walk->body = walk->now;
	else if (instruction.kind == ALLO_X86_JUMP || instruction.kind == ALLO_X86_END)
		walk->now = walk->body;
	else if (instruction.kind == ALLO_X86_PLAIN)
		take_instruction(&walk->now, code, &instruction);
	return true;
}

static uint32_t rule_of(const struct frame *frame)
{
	if (frame->is_last)
		return allo_rule(ALLO_RULE_END, 0, 0);
	if (frame->size == 0 && frame->has_fp)
		return allo_rule(ALLO_RULE_STANDARD, 16, -16);
	if (frame->size == 0 || frame->size % 8 != 0 || frame->size > ALLO_RULE_CFA_MAX ||
	    frame->fp < ALLO_RULE_FP_MIN)
		return allo_rule(ALLO_RULE_NONE, 0, 0);
	return allo_rule(ALLO_RULE_SP, frame->size, frame->fp);
}

/* Never inlined: its variables would stay on the stack of the caller. */
__attribute__((noinline)) uint32_t allo_code_rule(const uint8_t *code, size_t at, size_t first_size)
{
	struct walk walk = {
		.code = code, .first_size = first_size, .now = at_entry, .body = at_entry
	};

	if (at > CODE_MAX)
		return allo_rule(ALLO_RULE_NONE, 0, 0);
	while (walk.at < at && step(&walk)) {
	}
	if (walk.at != at)
		return allo_rule(ALLO_RULE_NONE, 0, 0);
	take_target(&walk);
	return rule_of(&walk.now);
}

#else

uint32_t allo_code_rule(const uint8_t *code, size_t at, size_t first_size)
{
	(void)code;
	(void)at;
	(void)first_size;
	return allo_rule(ALLO_RULE_NONE, 0, 0);
}

#endif

struct symbols {
	const ElfW(Sym) * table;
	uint32_t count;
};

/* The exported functions of a module with a DT_HASH table, whose length is theirs. */
static bool find_symbols(const struct allo_program_headers *headers, struct symbols *symbols)
{
	const ElfW(Dyn) *dynamic = NULL;

	*symbols = (struct symbols){ 0 };
	for (size_t i = 0; i < headers->count; i++) {
		if (headers->table[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)allo_segment_start(headers, i);
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		const void *address = (const void *)(headers->bias + dynamic->d_un.d_ptr);

		if (dynamic->d_tag == DT_SYMTAB)
			symbols->table = address;
		else if (dynamic->d_tag == DT_HASH)
			symbols->count = ((const uint32_t *)address)[1];
	}
	return symbols->table && symbols->count;
}

/* The last function that starts at an address or before it. */
static const ElfW(Sym) * find_before(const struct symbols *symbols, uint64_t address)
{
	const ElfW(Sym) *found = NULL;

	for (uint32_t i = 0; i < symbols->count; i++) {
		const ElfW(Sym) *symbol = &symbols->table[i];

		if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
		    symbol->st_value <= address && (!found || symbol->st_value > found->st_value))
			found = symbol;
	}
	return found;
}

uint32_t allo_code_rule_of_libc(uint64_t pc)
{
	const ElfW(Sym) *function = NULL;
	struct allo_program_headers headers;
	struct allo_code_module module, libc;
	struct symbols symbols;

	if (allo_module_find(pc, &module) && allo_module_find((uint64_t)strlen, &libc) &&
	    module.start == libc.start && allo_program_headers_find(&module, &headers) &&
	    find_symbols(&headers, &symbols))
		function = find_before(&symbols, pc - headers.bias);
	if (!function)
		return allo_rule(ALLO_RULE_NONE, 0, 0);
	return allo_code_rule((const uint8_t *)(headers.bias + function->st_value),
			      pc - headers.bias - function->st_value, function->st_size);
}
