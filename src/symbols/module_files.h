/*
 * module_files.h - finds the file of a module and the file with its debug information.
 *
 * Debug files are searched in this order:
 *
 *     in each folder that the user names, by build-id (.build-id/ab/cdef.debug, or
 *             abcdef/debuginfo as debuginfod has it), by the name in .gnu_debuglink (below the
 *             module's own path, or as it is), or by the module's name, with .debug or without
 *     by build-id in the root's usr/lib/debug, then in that of this machine
 *     by .gnu_debuglink beside the module, in .debug, and in the root's usr/lib/debug
 *     in the cache of debuginfod's client, by build-id
 *
 * A file that is found by name counts only if its build-id is the module's; .gnu_debuglink has a
 * checksum for files without build-ids.  Nothing is downloaded.
 */
#ifndef ALLO_SYMBOLS_MODULE_FILES_H
#define ALLO_SYMBOLS_MODULE_FILES_H

#include "symbols/elf_file.h"

/* More places to search; all zeros is empty. */
struct allo_symbol_places {
	const char *const *folders; /* with debug information */
	size_t folder_count;
	const char *root; /* root directory of the modules; NULL: / */
};

/* A module's file, and the one with its debug information; all zeros is closed. */
struct allo_module_files {
	struct allo_elf_file own, debug;
};

void allo_module_files_close(struct allo_module_files *files);

/*
 * Opens a module's file in other places than its path, only one with this build-id, which must not
 * be empty.
 */
bool allo_module_files_open_elsewhere(struct allo_module_files *files,
				      const struct allo_symbol_places *places, const char *path,
				      const struct allo_build_id *id);

/* Opens the debug file.  files->own may be missing. */
bool allo_module_files_open_debug(struct allo_module_files *files,
				  const struct allo_symbol_places *places, const char *path,
				  const struct allo_build_id *id);

#endif
