/*
 * machine.h - moves the first instructions of functions, for each kind of processor.
 *
 * Code is given as bytes and an address, so that code for another processor can be processed too.
 */
#ifndef ALLO_CAPTURE_MACHINE_H
#define ALLO_CAPTURE_MACHINE_H

#include "capture/patch/patch.h"

enum {
	ALLO_TRAMPOLINE_SIZE = 128,
	ALLO_TRAMPOLINE_MOVED = 32, /* offset of the moved instructions; before: the way to the
				     * replacement */
};

struct allo_patch_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
};

struct allo_machine {
	uint64_t reach; /* bytes that the jump at the entry can bridge, less some for code sizes */

	/* The target of a jump that the code begins with; 0: it begins with something else. */
	uint64_t (*jump_target)(const struct allo_patch_code *code);

	/* Estimates where a function ends: at a return or jump that no earlier branch skips. */
	size_t (*function_size)(const struct allo_patch_code *code);

	/* The length of the instruction that indirect calls need at the entry, so that it must stay
	 * there; 0: there is none. */
	size_t (*landing_size)(const struct allo_patch_code *code);

	/* Copies the first instructions, which the jump at the entry overwrites, to `moved`, which
	 * will be at the address `to`, with a jump to the rest of the function. */
	enum allo_patch_refusal (*move)(const struct allo_patch_code *code, uint8_t *moved,
					uint64_t to);

	/* Writes a jump to any address, which may set the register of a function's sixth argument;
	 * at most ALLO_TRAMPOLINE_MOVED bytes. */
	void (*write_way)(uint8_t *out, uint64_t to, const uint64_t *sixth);

	/* Whether a function can reach code that its compiler did not see.  `segment` is all code
	 * of its library.  NULL: every function is taken for one. */
	bool (*calls_unknown_code)(const struct allo_patch_code *segment, uint64_t function);

	/* Writes the jump at the entry; returns its length, at most ALLO_PATCH_MAX. */
	size_t (*write_entry)(uint8_t *out, uint64_t from, uint64_t to);
};

bool allo_x86_calls_unknown_code(const struct allo_patch_code *segment, uint64_t function);

ALLO_HIDDEN extern const struct allo_machine allo_machine_x86, allo_machine_arm64;

#endif
