/*
 * unpack_method.h - the ways of unpacking behind base/io/unpack.h.
 *
 * gzip and zstd need libraries: a platform may have others in their place.
 */
#ifndef ALLO_BASE_UNPACK_METHOD_H
#define ALLO_BASE_UNPACK_METHOD_H

#include "base/io/unpack.h"

struct allo_unpack_method {
	const char *name; /* as allo_packing_of() returns it */
	/* The state of a stream; NULL when out of memory. */
	void *(*open)(void);
	void (*close)(void *state);
	/* As allo_unpack(). */
	struct allo_unpacked (*unpack)(void *state, struct allo_text *packed, char *out,
				       size_t room);
};

extern const struct allo_unpack_method allo_unpack_gzip, allo_unpack_lz4, allo_unpack_zstd;

#endif
