/* function_names.c - see function_names.h. */
#include "symbols/function_names.h"

void allo_function_names_done(struct allo_function_names *names)
{
	allo_demangler_done(&names->demangler);
	allo_vec_done(&names->readable);
}

/* Demangles each name once: it takes longer than all else. */
static allo_string_id find_readable(struct allo_function_names *names, struct allo_profile *profile,
				    allo_string_id name, struct allo_error *err)
{
	struct allo_text text = allo_profile_text(profile, name);
	allo_string_id readable;

	if (name < names->readable.len && names->readable.at[name] != 0)
		return names->readable.at[name];
	readable = allo_profile_add_string(profile, allo_demangle(&names->demangler, text), err);
	if (readable == 0)
		return 0;
	if (!allo_vec_cover(&names->readable, (size_t)name + 1)) {
		allo_fail_memory(err);
		return 0;
	}
	names->readable.at[name] = readable;
	return readable;
}

allo_function_id allo_function_names_add(struct allo_function_names *names,
					 struct allo_profile *profile, struct allo_text name,
					 allo_string_id file, uint32_t start_line,
					 struct allo_error *err)
{
	struct allo_function function = { .file = file, .start_line = start_line };
	allo_string_id id = allo_profile_add_string(profile, name, err);

	if (id == 0)
		return 0;
	function.name = find_readable(names, profile, id, err);
	function.system_name = function.name == id ? 0 : id;
	return function.name ? allo_profile_add_function(profile, &function, err) : 0;
}
