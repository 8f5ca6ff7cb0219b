/*
 * unpack.h - streaming decompression of gzip, zstd and LZ4, and decoding of UTF-16 text.
 */
#ifndef ALLO_BASE_UNPACK_H
#define ALLO_BASE_UNPACK_H

#include "base/error.h"
#include "base/text.h"

struct allo_unpacker;

/* The packing of a file with these first bytes: "gzip", "lz4", "zstd", "UTF-16" or NULL. */
const char *allo_packing_of(struct allo_text head);

/* NULL when out of memory. */
struct allo_unpacker *allo_unpacker_new(const char *packing, struct allo_error *err);
void allo_unpacker_free(struct allo_unpacker *unpacker);

enum allo_unpack_problem {
	ALLO_UNPACK_FINE,
	ALLO_UNPACK_DAMAGED,
	ALLO_UNPACK_WIDE_WINDOW, /* zstd --long: unpacking needs more memory than our limit */
	ALLO_UNPACK_NO_MEMORY,
	ALLO_UNPACK_UNSUPPORTED, /* on this platform */
};

/*
 * Unpacks from the front of *packed, which advances, into `out`.  `made` may be 0 although *packed
 * advanced.  `finished` means that the data may end here.
 */
struct allo_unpacked {
	size_t made;
	bool finished;
	enum allo_unpack_problem problem;
};
struct allo_unpacked allo_unpack(struct allo_unpacker *unpacker, struct allo_text *packed,
				 char *out, size_t room);

/*
 * Unpacks a whole gzip member into memory from malloc(), several times as fast as in pieces.  NULL
 * when that fails (several members, damage, more than `most` bytes, out of memory); unpacking in
 * pieces then finds the reason.
 */
char *allo_gunzip_whole(struct allo_text packed, size_t most, size_t *len);

#endif
