/* symbol_function.c - adds functions with their symbol and their demangled name. */
#include "readers/traces/symbol_function.h"

#include "base/defer.h"

#include <stdlib.h>

static struct allo_text readable(const struct allo_namer *namer, struct allo_text symbol)
{
	return namer ? namer->name(namer->context, symbol) : symbol;
}

static allo_function_id add_function(struct allo_profile *profile, allo_string_id name,
				     struct allo_text symbol, bool is_readable,
				     struct allo_text file, struct allo_error *err)
{
	struct allo_function function = {
		.name = name,
		.system_name = is_readable ? 0 : allo_profile_add_string(profile, symbol, err),
		.file = allo_profile_add_string(profile, file, err),
	};

	return allo_failed(err) ? 0 : allo_profile_add_function(profile, &function, err);
}

allo_function_id allo_symbol_function(struct allo_profile *profile, const struct allo_namer *namer,
				      struct allo_text symbol, struct allo_text file,
				      struct allo_error *err)
{
	struct allo_text name = readable(namer, symbol);

	return add_function(profile, allo_profile_add_string(profile, name, err), symbol,
			    allo_text_equal(name, symbol), file, err);
}

allo_function_id allo_symbol_function_in(struct allo_profile *profile,
					 const struct allo_namer *namer, struct allo_text module,
					 struct allo_text symbol, struct allo_error *err)
{
	struct allo_text name = readable(namer, symbol),
			 whole = { .len = module.len + 1 + name.len };
	ALLO_DEFER(allo_free_pointer) char *joined = malloc(whole.len);

	if (!joined) {
		allo_fail_memory(err);
		return 0;
	}
	memcpy(joined, module.data, module.len);
	joined[module.len] = '`';
	memcpy(joined + module.len + 1, name.data, name.len);
	whole.data = joined;
	return add_function(profile, allo_profile_add_string(profile, whole, err), symbol,
			    allo_text_equal(name, symbol), (struct allo_text){ 0 }, err);
}
