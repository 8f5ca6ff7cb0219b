/*
 * cfi.h - from the unwind tables of a module to a rule.
 *
 * Tables are read where the module has them mapped.  They are the compiler's work and not an
 * attacker's, but a broken one must not take the program down: every read stays within the table.
 */
#ifndef ALLO_CAPTURE_CFI_H
#define ALLO_CAPTURE_CFI_H

#include <stddef.h>
#include <stdint.h>

/* The numbers that DWARF gives to registers, and where calls leave the return address. */
struct allo_cfi_arch {
	uint8_t fp, sp, ra;
	/* From the CFA; 0: right above the saved frame pointer. */
	int8_t ra_offset;
};

extern const struct allo_cfi_arch allo_cfi_x86_64, allo_cfi_aarch64;

/* The rule at `pc` by an .eh_frame_hdr and the .eh_frame that it leads to, both within
 * [start, end). */
uint32_t allo_cfi_rule(const struct allo_cfi_arch *arch, const uint8_t *header,
		       const uint8_t *start, const uint8_t *end, uint64_t pc);

#endif
