/*
 * unpack.h - gzip and zstd, piece by piece.
 */
#ifndef ALLO_BASE_UNPACK_H
#define ALLO_BASE_UNPACK_H

#include "base/error.h"
#include "base/text.h"

struct allo_unpacker;

/* The packing that starts with these bytes: "gzip", "zstd" or NULL. */
const char *allo_packing_of(struct allo_text head);

/* NULL when memory is short. */
struct allo_unpacker *allo_unpacker_new(const char *packing, struct allo_error *err);
void allo_unpacker_free(struct allo_unpacker *unpacker);

enum allo_unpack_problem {
	ALLO_UNPACK_FINE,
	ALLO_UNPACK_DAMAGED,
	ALLO_UNPACK_WIDE_WINDOW, /* zstd --long: unpacking takes more memory than we are willing to
				    give */
	ALLO_UNPACK_NO_MEMORY,
};

/*
 * Unpacks from the front of *packed, which is advanced, into `out`.  Returns the bytes made, which
 * may be 0 while there is progress in *packed; `finished` says that the data may end here.
 */
struct allo_unpacked {
	size_t made;
	bool finished;
	enum allo_unpack_problem problem;
};
struct allo_unpacked allo_unpack(struct allo_unpacker *unpacker, struct allo_text *packed,
				 char *out, size_t room);

/*
 * A whole gzip member in one go, into memory from malloc(): several times as fast as by pieces.
 * NULL when that cannot be done (several members, damage, more than `most` bytes, no memory): then
 * the slow way knows why.
 */
char *allo_gunzip_whole(struct allo_text packed, size_t most, size_t *len);

#endif
