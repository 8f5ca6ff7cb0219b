/*
 * code_units.h - which compilation unit of a file's DWARF an address belongs to.
 */
#ifndef ALLO_SYMBOLS_CODE_UNITS_H
#define ALLO_SYMBOLS_CODE_UNITS_H

#include "base/error.h"
#include "base/vec.h"

#include <elfutils/libdw.h>

/* Addresses of a unit; `unit` is the offset of its outermost entry. */
struct allo_code_range {
	uint64_t start, end; /* end excluded */
	Dwarf_Off unit;
};

/* All zeros but for `dwarf`, the caller's, is ready for use. */
struct allo_code_units {
	Dwarf *dwarf;

	/* Private from here on. */
	bool has_table, has_ranges;
	Dwarf_Aranges *table; /* .debug_aranges, which not all compilers write */
	size_t table_len;
	ALLO_VEC(struct allo_code_range) ranges; /* of units that the table lacks, by start */
};

void allo_code_units_done(struct allo_code_units *units);

/* The offset of the outermost entry of the unit that has an address; 0 when none has it, and when
 * memory is short. */
Dwarf_Off allo_code_units_find(struct allo_code_units *units, uint64_t address,
			       struct allo_error *err);

#endif
