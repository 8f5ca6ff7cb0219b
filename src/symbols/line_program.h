/*
 * line_program.h - files and lines of addresses, from a unit's program in .debug_line.
 *
 * libdw lists and sorts all lines of a unit, which takes ten times as long as one run of the
 * program that looks only for the wanted addresses.
 */
#ifndef ALLO_SYMBOLS_LINE_PROGRAM_H
#define ALLO_SYMBOLS_LINE_PROGRAM_H

#include "base/text.h"
#include "base/vec.h"

#include <elfutils/libdw.h>

/* An address, and where the source is that it comes from. */
struct allo_line_at {
	uint64_t address; /* given */
	uint64_t row;     /* where the row that it was found in begins */
	const char *file; /* from the unit's folder on; NULL: not known */
	uint32_t line, column;
	bool is_found;
};

/* The names of files that a unit's entries refer to; all zeros is empty. */
struct allo_line_files {
	ALLO_VEC(const char *) names; /* by number; NULL: not known */
	ALLO_VEC(char) bytes;         /* of the names that had to be put together */
	ALLO_VEC(size_t) starts;      /* of those names, by number; 0: none */
};

void allo_line_files_done(struct allo_line_files *files);

/*
 * Runs the program of a unit of `elf`.  `addresses` are sorted, and zero but for that.  False where
 * it is not of a kind that is known here, or damaged, and when memory is short: libdw may know
 * better.
 */
bool allo_line_program_run(Elf *elf, Dwarf_Die *unit, struct allo_line_at *addresses, size_t count,
			   struct allo_line_files *files);

#endif
