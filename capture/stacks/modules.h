/*
 * modules.h - the loaded module that contains an address.
 *
 * glibc 2.35 and later has a function for it, which takes no lock.  With other C libraries the
 * runtime keeps a list (module_list.h).  dl_iterate_phdr() would not do: it takes a lock that
 * dlopen() holds while it allocates.
 */
#ifndef ALLO_CAPTURE_MODULES_H
#define ALLO_CAPTURE_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allo_code_module {
	uint64_t start, end;          /* its segments in memory */
	uint64_t bias;                /* load address minus the addresses in its headers */
	const uint8_t *unwind_header; /* .eh_frame_hdr; NULL: it has none */
	uint64_t identity; /* tells apart modules that are loaded at one address in turn */
	const char *name;  /* as the loader knows it; NULL: allo_module_path() looks it up */
	bool is_program;
};

/* Chooses libc's function or our list.  ALLO_MODULES=list chooses the list. */
void allo_modules_init(void);

/* Takes no lock and allocates nothing.  False for an address in no module. */
bool allo_module_find(uint64_t address, struct allo_code_module *module);

/* Whether the module that was found at `start` is still the one that is loaded there. */
bool allo_module_is_loaded(uint64_t start, uint64_t identity);

/* Copies the module's path, up to `room` bytes with the NUL.  Returns its length; 0: it is the
 * program, or the path cannot be read. */
size_t allo_module_path(const struct allo_code_module *module, char *path, size_t room);

/* The path of the module that contains the runtime; "" if that is the program. */
const char *allo_module_own_path(void);

/* Tells the list that dlclose() has returned. */
void allo_modules_closed(void);

/* Finds all modules before the process enters a sandbox, where the list cannot find more. */
void allo_modules_complete(void);

/* Before the process enters a sandbox that forbids the list to copy headers by process_vm_readv().
 * It reads them in place then, which is safe while no other thread unloads the module. */
void allo_modules_avoid_copies(void);

#endif
