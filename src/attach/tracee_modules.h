/*
 * tracee_modules.h - the programs and libraries in the memory of another process, and their
 * symbols.
 *
 * All is read from memory: in a container, the path of a library means another file.  The contents
 * are not trusted.
 */
#ifndef ALLO_ATTACH_TRACEE_MODULES_H
#define ALLO_ATTACH_TRACEE_MODULES_H

#include "attach/tracee_memory.h"

struct allo_tracee_module {
	const char *path;
	uint64_t base;    /* address of the ELF header */
	uint64_t bias;    /* what is added to addresses in the file */
	char name[64];    /* DT_SONAME; "": none */
	uint16_t machine; /* e_machine */
	bool is_dynamic;  /* it has a table of symbols, in these addresses: */
	uint64_t symbols, names, hash;
};

/* All zeros is empty. */
struct allo_tracee_modules {
	ALLO_VEC(struct allo_tracee_module) all;
};

/* Lists the modules among the mappings. */
bool allo_tracee_modules_list(struct allo_tracee_modules *modules,
			      const struct allo_tracee_memory *memory, struct allo_error *err);
void allo_tracee_modules_done(struct allo_tracee_modules *modules);

/* The module with this DT_SONAME; NULL if there is none. */
const struct allo_tracee_module *allo_tracee_module_named(const struct allo_tracee_modules *modules,
							  const char *name);

/* The module that was loaded from this path, which may go on; NULL if there is none. */
const struct allo_tracee_module *allo_tracee_module_at(const struct allo_tracee_modules *modules,
						       const char *path);

/* The address of a function or variable that a module defines; 0 if it does not.  `size` may be
 * NULL. */
uint64_t allo_tracee_symbol(const struct allo_tracee_memory *memory,
			    const struct allo_tracee_module *module, const char *name,
			    uint64_t *size);

#endif
