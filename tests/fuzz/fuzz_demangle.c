/* fuzz_demangle.c - any bytes as the linker name of a function. */
#include "symbols/demangle.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct allo_demangler demangler;
	struct allo_text name = { (const char *)data, size };
	struct allo_text readable = allo_demangle(&demangler, name);

	if (readable.len > ALLO_DEMANGLED_MAX && readable.len > size)
		abort();
	return 0;
}
