/*
 * module_list.h - the loaded modules, for C libraries that cannot be asked without a lock.
 *
 * The list begins with the modules of the start.  An address outside of all known modules is looked
 * up in /proc/thread-self/maps, and its module joins the list.  So dlopen() needs no hook, and code
 * that runs before it returns is found.
 *
 * A module may go without notice: libc unloads its own by an internal function.  So a module counts
 * as loaded only while its headers in memory are those that were found.  The kernel copies them:
 * another thread may unload the module meanwhile.
 *
 * Entries are read without a lock.  A writer claims a single entry by its sequence number; if
 * another writer has it, the module is not kept and will be looked up again.
 */
#ifndef ALLO_CAPTURE_MODULE_LIST_H
#define ALLO_CAPTURE_MODULE_LIST_H

#include "capture/stacks/modules.h"

/* Adds the modules of the start. */
void allo_module_list_init(void);

bool allo_module_list_find(uint64_t address, struct allo_code_module *module);

bool allo_module_list_has(uint64_t start, uint64_t identity);

size_t allo_module_list_path(const struct allo_code_module *module, char *path, size_t room);

/* Removes modules that are no longer loaded. */
void allo_module_list_check(void);

/* Adds all modules that are loaded. */
void allo_module_list_complete(void);

/* From now on, headers are read in place. */
void allo_module_list_avoid_copies(void);

#endif
