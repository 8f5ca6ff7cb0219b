/* zstd_frame.c - libzstd's context and its call for whole frames. */
#include "base/io/zstd_frame.h"

#include <zstd.h>

/* The unpacker is libzstd's context: a struct around it would be one more allocation. */
static ZSTD_DCtx *context_of(struct allo_zstd_unpacker *unpacker)
{
	return (ZSTD_DCtx *)unpacker;
}

struct allo_zstd_unpacker *allo_zstd_unpacker_new(void)
{
	return (struct allo_zstd_unpacker *)ZSTD_createDCtx();
}

void allo_zstd_unpacker_free(struct allo_zstd_unpacker *unpacker)
{
	ZSTD_freeDCtx(context_of(unpacker));
}

bool allo_zstd_unpack_frame(struct allo_zstd_unpacker *unpacker, struct allo_text packed, void *out,
			    size_t len)
{
	return ZSTD_decompressDCtx(context_of(unpacker), out, len, packed.data, packed.len) == len;
}
