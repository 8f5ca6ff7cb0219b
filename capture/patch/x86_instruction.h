/*
 * x86_instruction.h - the length of x86-64 instructions, and the parts that depend on their place.
 */
#ifndef ALLO_CAPTURE_X86_INSTRUCTION_H
#define ALLO_CAPTURE_X86_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum allo_x86_kind {
	ALLO_X86_PLAIN,
	ALLO_X86_CALL,   /* direct or indirect */
	ALLO_X86_JUMP,   /* direct and unconditional */
	ALLO_X86_BRANCH, /* direct and conditional */
	ALLO_X86_LOOP,   /* loop, jrcxz, xbegin: direct, without a form that reaches far */
	ALLO_X86_END,    /* return, indirect jump, trap: the next instruction does not follow */
};

struct allo_x86_instruction {
	uint8_t length;
	uint8_t opcode_at;   /* offset of the first opcode byte, behind the prefixes */
	uint8_t relative_at; /* offset of the 32-bit displacement of [rip + displacement]; 0: none
			      */
	uint8_t target_at;   /* offset of a branch's displacement; 0: none */
	uint8_t target_size; /* of the displacement: 1 or 4 bytes */
	enum allo_x86_kind kind;
};

/* False if the first of `size` bytes begin no known instruction, or one that is longer. */
bool allo_x86_decode(const uint8_t *code, size_t size, struct allo_x86_instruction *instruction);

/* The displacement of a direct branch, which counts from the end of the instruction. */
int64_t allo_x86_displacement(const uint8_t *code, const struct allo_x86_instruction *instruction);

#endif
