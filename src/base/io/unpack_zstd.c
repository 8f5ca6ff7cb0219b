/* unpack_zstd.c - libzstd for streams. */
#include "base/io/unpack_method.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct zstd {
	ZSTD_DStream *stream;
	bool between; /* between two frames */
};

static void *open_zstd(void)
{
	struct zstd *zstd = calloc(1, sizeof(*zstd));

	if (zstd)
		zstd->stream = ZSTD_createDStream();
	if (zstd && zstd->stream)
		return zstd;
	free(zstd);
	return NULL;
}

static void close_zstd(void *state)
{
	struct zstd *zstd = state;

	ZSTD_freeDStream(zstd->stream);
	free(zstd);
}

static enum allo_unpack_problem zstd_problem(size_t result)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_no_error:
		return ALLO_UNPACK_FINE;
	case ZSTD_error_memory_allocation:
		return ALLO_UNPACK_NO_MEMORY;
	case ZSTD_error_frameParameter_windowTooLarge:
		return ALLO_UNPACK_WIDE_WINDOW;
	default:
		return ALLO_UNPACK_DAMAGED;
	}
}

static struct allo_unpacked unpack_zstd(void *state, struct allo_text *packed, char *out,
					size_t room)
{
	struct zstd *zstd = state;
	ZSTD_inBuffer in = { packed->data, packed->len, 0 };
	ZSTD_outBuffer made = { out, room, 0 };
	size_t left = ZSTD_decompressStream(zstd->stream, &made, &in);

	*packed = allo_text_from(*packed, in.pos);
	/* Without progress the state stays the same. */
	if (in.pos > 0 || made.pos > 0)
		zstd->between = left == 0;
	return (struct allo_unpacked){ made.pos, zstd->between, zstd_problem(left) };
}

const struct allo_unpack_method allo_unpack_zstd = { "zstd", open_zstd, close_zstd, unpack_zstd };
