/*
 * cfi.h - reads unwind tables (DWARF call frame information) and turns a row into a rule.
 *
 * Tables are read in place, where the module is mapped.  They come from a compiler, not from an
 * attacker, but a broken one must not crash the program: every read stays within the table.
 */
#ifndef ALLO_CAPTURE_CFI_H
#define ALLO_CAPTURE_CFI_H

#include <stddef.h>
#include <stdint.h>

/* DWARF numbers of registers, and where a call saves the return address. */
struct allo_cfi_arch {
	uint8_t fp, sp, ra;
	/* Offset from the CFA; 0: directly above the saved frame pointer. */
	int8_t ra_offset;
};

extern const struct allo_cfi_arch allo_cfi_x86_64, allo_cfi_aarch64;

/* The rule at `pc`, found with the .eh_frame_hdr at `header` and the .eh_frame that it points to;
 * both lie within [start, end). */
uint32_t allo_cfi_rule(const struct allo_cfi_arch *arch, const uint8_t *header,
		       const uint8_t *start, const uint8_t *end, uint64_t pc);

#endif
