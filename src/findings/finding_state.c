#include "findings/finding_state.h"

#include "profile/naming.h"

/* Escapes characters that have a meaning in query strings. */
static void put_escaped(struct allo_output *out, struct allo_text text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    c == '_' || c == '.' || c == '-')
			allo_output_byte(out, (char)c);
		else
			allo_output_printf(out, "%%%02X", c);
	}
}

bool allo_finding_state(struct allo_output *out, const struct allo_profile *profile,
			const struct allo_finding *found, struct allo_error *err)
{
	if (!allo_output_open_memory(out, &(struct allo_output_options){ 0 }, err))
		return false;
	allo_output_printf(out, "view=%s", found->rule->view);
	if (found->to_ns > 0)
		allo_output_printf(out, "&t=%.9fs..%.9fs", (double)found->from_ns / 1e9,
				   (double)found->to_ns / 1e9);
	if (found->site && found->site->key.function) {
		allo_output_string(out, "&f=focus%3Afn%3A%3D");
		put_escaped(out, allo_profile_text(profile, found->site->key.function));
	}
	return allo_output_finish(out, err);
}
