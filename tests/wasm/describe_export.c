/* describe_export.c - describe() as a function of the engine that node calls. */
#include "describe.h"
#include "wasm/exports.h"

/* Describes `len` bytes; both pointers are from allo_engine_alloc() and stay the caller's. */
ALLO_EXPORT("allo_test_describe")
const struct allo_engine_bytes *allo_test_describe(const char *name, const void *data, size_t len)
{
	static description text;
	static struct allo_engine_bytes bytes;

	text.len = 0;
	describe(&text, name, data, len);
	bytes = (struct allo_engine_bytes){ text.at, text.len };
	return &bytes;
}
