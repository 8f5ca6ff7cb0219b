/*
 * packing.h - compresses data with zlib and libzstd, for tests of decompression.
 */
#ifndef ALLO_TESTS_PACKING_H
#define ALLO_TESTS_PACKING_H

#include "check.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

struct bytes {
	char *data;
	size_t len;
};

static inline void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
}

/* The data, `repeat` times, as one gzip member. */
static inline struct bytes gzip_repeated(const void *data, size_t len, size_t repeat)
{
	struct bytes packed = { malloc(len * 2 + repeat * (len / 100 + 16) + 1000), 0 };
	size_t room = len * 2 + repeat * (len / 100 + 16) + 1000;
	z_stream gzip = { 0 };

	assert_int_equal(deflateInit2(&gzip, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	gzip.next_out = (Bytef *)packed.data;
	gzip.avail_out = (unsigned)room;
	for (size_t i = 0; i < repeat; i++) {
		gzip.next_in = (z_const Bytef *)data;
		gzip.avail_in = (unsigned)len;
		assert_int_equal(deflate(&gzip, Z_NO_FLUSH), Z_OK);
		assert_int_equal(gzip.avail_in, 0);
	}
	assert_int_equal(deflate(&gzip, Z_FINISH), Z_STREAM_END);
	packed.len = gzip.total_out;
	deflateEnd(&gzip);
	return packed;
}

static inline struct bytes gzip(const void *data, size_t len)
{
	return gzip_repeated(data, len, 1);
}

/* With a checksum, like the zstd command. */
static inline struct bytes zstd(const void *data, size_t len)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	struct bytes packed = { malloc(ZSTD_compressBound(len)), 0 };

	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	packed.len = ZSTD_compress2(context, packed.data, ZSTD_compressBound(len), data, len);
	assert_false(ZSTD_isError(packed.len));
	ZSTD_freeCCtx(context);
	return packed;
}

/* Joins two packed texts, and frees them. */
static inline struct bytes join(struct bytes a, struct bytes b)
{
	struct bytes both = { malloc(a.len + b.len + 1), a.len + b.len };

	memcpy(both.data, a.data, a.len);
	memcpy(both.data + a.len, b.data, b.len);
	free(a.data);
	free(b.data);
	return both;
}

#endif
