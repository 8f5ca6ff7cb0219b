/*
 * symbol_function.h - functions of which a file tells the symbol.
 */
#ifndef ALLO_READERS_SYMBOL_FUNCTION_H
#define ALLO_READERS_SYMBOL_FUNCTION_H

#include "readers/reader.h"

/* The function that linkers call `symbol`, by the name that the namer has for it, if there is one;
 * `file` may be empty.  0 when memory is short. */
allo_function_id allo_symbol_function(struct allo_profile *profile, const struct allo_namer *namer,
				      struct allo_text symbol, struct allo_text file,
				      struct allo_error *err);

/* The same with the module in front of its name: "libc.so.1`malloc". */
allo_function_id allo_symbol_function_in(struct allo_profile *profile,
					 const struct allo_namer *namer, struct allo_text module,
					 struct allo_text symbol, struct allo_error *err);

#endif
