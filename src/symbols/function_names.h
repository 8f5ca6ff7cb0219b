/*
 * function_names.h - functions of a profile by the names that linkers know them by.
 */
#ifndef ALLO_SYMBOLS_FUNCTION_NAMES_H
#define ALLO_SYMBOLS_FUNCTION_NAMES_H

#include "profile/profile.h"
#include "symbols/demangle.h"

/* All zeros is ready for use, with one profile only. */
struct allo_function_names {
	struct allo_demangler demangler;
	ALLO_VEC(allo_string_id) readable; /* by string; 0: not asked for yet */
};

void allo_function_names_done(struct allo_function_names *names);

/* The function that linkers call `name`, which must not be empty; 0 when memory is short. */
allo_function_id allo_function_names_add(struct allo_function_names *names,
					 struct allo_profile *profile, struct allo_text name,
					 allo_string_id file, uint32_t start_line,
					 struct allo_error *err);

#endif
