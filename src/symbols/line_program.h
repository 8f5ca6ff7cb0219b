/*
 * line_program.h - files and lines of addresses, from a unit's program in .debug_line.
 *
 * libdw lists and sorts all lines of a unit, which takes ten times as long as one run of the
 * program that looks only for the wanted addresses.
 */
#ifndef ALLO_SYMBOLS_LINE_PROGRAM_H
#define ALLO_SYMBOLS_LINE_PROGRAM_H

#include "base/arena.h"
#include "base/text.h"
#include "base/vec.h"

#include <elfutils/libdw.h>

/* An address, and where the source is that it comes from. */
struct allo_line_at {
	uint64_t address; /* given */
	uint64_t row;     /* where the row that it was found in begins */
	uint64_t file_number;
	const char *file; /* from the unit's folder on; NULL: not known */
	uint32_t line, column;
	bool is_found;
};

/* A file of a unit.  `folder` is NULL for the unit's own folder; `name` is NULL if unknown. */
struct allo_line_file {
	const char *folder, *name;
	const char *path; /* both, once they are joined; NULL: not yet */
};

/* The files that a unit's entries refer to; all zeros is empty. */
struct allo_line_files {
	ALLO_VEC(struct allo_line_file) entries; /* by number */
	struct allo_arena paths;
};

void allo_line_files_done(struct allo_line_files *files);

/* The path of a file from the unit's folder on; NULL if the unit has no such file, the path is
 * longer than PATH_MAX, or memory is short. */
const char *allo_line_files_path(struct allo_line_files *files, uint64_t number);

/*
 * Runs the program of a unit of `elf`.  `addresses` are sorted, and zero but for that. `bytes_left`
 * limits the bytes of all programs of a file, since hostile units may share one program: when they
 * are used up, the other addresses are not found.  False where the program is not of a kind that is
 * known here, or damaged, and when memory is short: libdw may know better.
 */
bool allo_line_program_run(Elf *elf, Dwarf_Die *unit, struct allo_line_at *addresses, size_t count,
			   struct allo_line_files *files, uint64_t *bytes_left);

/* The longest name in the section that all tables of `elf` share; all zeros: not known yet. */
struct allo_line_strings {
	Elf *elf;
	uint64_t longest;
};

/* Whether libdw can read the files of a unit of `elf` without using excessive memory: it joins each
 * file with its folder. */
bool allo_line_table_is_modest(Elf *elf, Dwarf_Die *unit, struct allo_line_strings *strings);

#endif
