/* http_library.c - looks up the functions of libmicrohttpd. */
#include "serve/http_library.h"

#include <dlfcn.h>
#include <stddef.h>

/* The version of the ABI that <microhttpd.h> declares. */
static const char library_name[] = "libmicrohttpd.so.12";

struct allo_http allo_http;

bool allo_http_load(struct allo_error *err)
{
#define CALL(name) { "MHD_" #name, offsetof(struct allo_http, name) },
	static const struct {
		const char *name;
		size_t offset;
	} calls[] = { ALLO_HTTP_CALLS(CALL) };
#undef CALL
	void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "cannot load %s, which 'allo serve' needs",
			  library_name);
		return allo_hint(err, "on Debian, install the package libmicrohttpd12");
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		void *call = dlsym(library, calls[i].name);

		if (!call)
			return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s lacks %s", library_name,
					 calls[i].name);
		*(void **)((char *)&allo_http + calls[i].offset) = call;
	}
	return true;
}
