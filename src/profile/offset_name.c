/* offset_name.c - see offset_name.h. */
#include "profile/offset_name.h"

#include "profile/naming.h"

#include <stdio.h>

enum { MODULE_MOST = 80 }; /* bytes; as ALLO_TEXT_ARG() prints them */

static struct allo_text module_of(struct allo_text path)
{
	struct allo_text name = allo_basename(path);

	if (name.len > MODULE_MOST)
		name.len = MODULE_MOST;
	return name;
}

struct allo_text allo_offset_name(struct allo_text module_path, uint64_t start,
				  char out[ALLO_OFFSET_NAME_SIZE])
{
	struct allo_text module = module_of(module_path);
	int len = snprintf(out, ALLO_OFFSET_NAME_SIZE, "%.*s+0x%llx", ALLO_TEXT_ARG(module),
			   (unsigned long long)start);

	return (struct allo_text){ out, (size_t)len };
}

static bool is_hex(struct allo_text digits)
{
	for (size_t i = 0; i < digits.len; i++) {
		if (!allo_is_digit(digits.data[i]) &&
		    !(digits.data[i] >= 'a' && digits.data[i] <= 'f'))
			return false;
	}
	return digits.len > 0;
}

bool allo_is_offset_name(struct allo_text name, struct allo_text module_path)
{
	struct allo_text module = module_of(module_path);

	return module.len > 0 && allo_text_skip(&name, module) &&
	       allo_text_skip(&name, ALLO_TEXT("+0x")) && is_hex(name);
}

bool allo_call_has_offset_name(const struct allo_profile *profile, const struct allo_frame *frame,
			       uint32_t call)
{
	allo_function_id function = allo_call_line(profile, frame, call).function;

	return function != 0 && frame->module != 0 &&
	       allo_is_offset_name(
		       allo_profile_text(profile, profile->functions.at[function].name),
		       allo_profile_text(profile, profile->modules.at[frame->module].path));
}
