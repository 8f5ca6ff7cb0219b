/*
 * symbol_function.h - functions that a file names by their symbol.
 */
#ifndef ALLO_READERS_SYMBOL_FUNCTION_H
#define ALLO_READERS_SYMBOL_FUNCTION_H

#include "readers/reader.h"

/* Adds the function with the linker symbol `symbol`, named by the namer, which may be NULL; `file`
 * may be empty.  0 when memory is short. */
allo_function_id allo_symbol_function(struct allo_profile *profile, const struct allo_namer *namer,
				      struct allo_text symbol, struct allo_text file,
				      struct allo_error *err);

/* Adds a function with the module in front of its name: "libc.so.1`malloc". */
allo_function_id allo_symbol_function_in(struct allo_profile *profile,
					 const struct allo_namer *namer, struct allo_text module,
					 struct allo_text symbol, struct allo_error *err);

#endif
