/* fuzz_demangle.c - any bytes as the linker name of a function, and as its readable name. */
#include "profile/short_name.h"
#include "symbols/demangle.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A short name is at most a few dots longer than the name. */
static void shorten(struct allo_text name)
{
	static struct allo_name_buffer buffer;

	for (int detail = ALLO_NAME_BRIEF; detail <= ALLO_NAME_DISTINCT; detail++) {
		struct allo_text brief = allo_short_name(name, (enum allo_name_detail)detail,
							 &buffer);

		if (brief.len > 2 * name.len + 8 || (name.len > 0 && brief.len == 0))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct allo_demangler demangler;
	struct allo_text name = { (const char *)data, size };
	struct allo_text readable = allo_demangle(&demangler, name);

	if (readable.len > ALLO_DEMANGLED_MAX && readable.len > size)
		abort();
	shorten(name);
	shorten(readable);
	return 0;
}
