/*
 * module_symbols.h - finds symbols of a loaded module by name: those that it exports, and functions
 * in the symbol table of its file, or of a separate debug file.
 *
 * dlsym() would not do: it takes a lock, and allocates the text of its error.
 */
#ifndef ALLO_CAPTURE_MODULE_SYMBOLS_H
#define ALLO_CAPTURE_MODULE_SYMBOLS_H

#include "capture/stacks/modules.h"

#include <link.h>

struct allo_module_symbol {
	uint64_t address;
	size_t size;
	bool is_function;
};

/* Where a module keeps the symbols that it exports. */
struct allo_exports {
	const ElfW(Dyn) * dynamic; /* NULL: it exports none */
	uint64_t bias;
};

struct allo_exports allo_exports_of(const struct allo_code_module *module);

/* Looks in the module's hash table, in memory. */
bool allo_export_find(struct allo_exports exports, const char *name,
		      struct allo_module_symbol *symbol);

/* The address of a symbol; NULL if the module does not export it. */
void *allo_export_address(struct allo_exports exports, const char *name);

typedef void allo_module_symbol_visitor(void *context, const char *name,
					struct allo_module_symbol symbol);

/* Visits the functions in the symbol table of a file that was loaded as `module`, if the name of
 * one of them ends with one of `endings` (NULL ends).  False if the file has no symbol table. */
bool allo_module_symbols_visit(const struct allo_code_module *module, const char *path,
			       const char *const *endings, allo_module_symbol_visitor *visitor,
			       void *context);

#endif
