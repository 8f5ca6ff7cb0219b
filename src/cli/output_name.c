#include "cli/output_name.h"

#include "profile/naming.h"

#include <stdio.h>

char *allo_output_name(const char *file, const char *ending, const char *unnamed)
{
	static const char *const endings[] = { ".gz", ".zst", ".pb", ".allo", ".json", ".pprof" };
	/* A URL may have a query. */
	struct allo_text name = allo_basename((struct allo_text){ file, strcspn(file, "?#") });
	char *output = NULL;

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		if (allo_text_ends(name, allo_text_of(endings[i])))
			name.len -= strlen(endings[i]);
	}
	if (name.len == 0 || strcmp(file, "-") == 0)
		name = allo_text_of(unnamed);
	return asprintf(&output, "%.*s%s", ALLO_TEXT_WHOLE(name), ending) < 0 ? NULL : output;
}
