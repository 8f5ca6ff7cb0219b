/*
 * zstd_frame.h - unpacks zstd frames of known size.
 *
 * Recordings hold many small frames.  For files that are zstd as a whole, see base/io/unpack.h.  In
 * the engine of the viewer, JavaScript unpacks the frames (wasm/imports.h).
 */
#ifndef ALLO_BASE_ZSTD_FRAME_H
#define ALLO_BASE_ZSTD_FRAME_H

#include "base/text.h"

/* Working memory, for one thread. */
struct allo_zstd_unpacker;

/* NULL when out of memory. */
struct allo_zstd_unpacker *allo_zstd_unpacker_new(void);

/* `unpacker` may be NULL. */
void allo_zstd_unpacker_free(struct allo_zstd_unpacker *unpacker);

/* True if the frame is intact and holds exactly `len` bytes.  `out` has room for them. */
bool allo_zstd_unpack_frame(struct allo_zstd_unpacker *unpacker, struct allo_text packed, void *out,
			    size_t len);

#endif
