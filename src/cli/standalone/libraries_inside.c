/*
 * libraries_inside.c - the libraries that allo loads while it runs, linked into a standalone allo.
 *
 * A static program cannot load the libraries of a system with another version of glibc.  The
 * linker replaces dlopen() and dlsym() by these functions (--wrap).  libcurl is not inside.
 */
#include "serve/http_library.h"

#include <dlfcn.h>
#include <string.h>

void *__wrap_dlopen(const char *name, int mode);
void *__wrap_dlsym(void *library, const char *name);

/* Of <lzma.h>, as src/symbols/mini_debug.c declares it. */
extern int lzma_stream_buffer_decode(uint64_t *memory_most, uint32_t flags, const void *allocator,
				     const uint8_t *in, size_t *in_at, size_t in_len, uint8_t *out,
				     size_t *out_at, size_t out_len);

#define CALL(name) { "MHD_" #name, (void *)MHD_##name },
static const struct {
	const char *name;
	void *function;
} functions[] = {
	ALLO_HTTP_CALLS(CALL){ "lzma_stream_buffer_decode", (void *)lzma_stream_buffer_decode },
};
#undef CALL

static const char *const libraries[] = { "libmicrohttpd.so.12", "liblzma.so.5" };

void *__wrap_dlopen(const char *name, int mode)
{
	(void)mode;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		if (name && strcmp(name, libraries[i]) == 0)
			return (void *)libraries[i];
	}
	return NULL;
}

void *__wrap_dlsym(void *library, const char *name)
{
	(void)library;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (strcmp(name, functions[i].name) == 0)
			return functions[i].function;
	}
	return NULL;
}
