/* symbol_function.c - see symbol_function.h. */
#include "readers/symbol_function.h"

allo_function_id allo_symbol_function(struct allo_profile *profile, const struct allo_namer *namer,
				      struct allo_text symbol, struct allo_text file,
				      struct allo_error *err)
{
	struct allo_text name = namer ? namer->name(namer->context, symbol) : symbol;
	struct allo_function function = {
		.name = allo_profile_add_string(profile, name, err),
		.file = allo_profile_add_string(profile, file, err),
	};

	if (!allo_text_equal(name, symbol))
		function.system_name = allo_profile_add_string(profile, symbol, err);
	return allo_failed(err) ? 0 : allo_profile_add_function(profile, &function, err);
}
