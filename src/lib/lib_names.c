/* lib_names.c - names for addresses; see allotrope.h. */
#include "lib/lib_common.h"

bool allotrope_add_names(struct allotrope_profile *profile,
			 const struct allotrope_read_options *options, struct allotrope_error *err)
{
	struct allo_source_options source;
	struct allo_error failure = { 0 };
	struct allo_host host;
	bool had_addresses, ok;

	if (!allo_lib_begin(profile, err) || !allo_lib_source_options(options, &host, &source, err))
		return false;
	had_addresses = profile->data.meta.has_addresses;
	profile->data.meta.has_addresses = true;
	ok = allo_add_names(&source, &profile->data, NULL, &failure);
	profile->data.meta.has_addresses = had_addresses;
	return ok || allo_lib_fail(err, &failure);
}
