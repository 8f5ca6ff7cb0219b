/* pack.c - chunks are deflated on several cores; zstd runs on the calling thread. */
#include "base/io/pack.h"

#include "base/assert.h"
#include "base/io/deflate_join.h"
#include "base/jobs.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zstd.h>

enum {
	/* Large enough that the empty window at each start costs little. */
	CHUNK_SIZE = 1 << 19,
	CHUNKS_MAX = 4,
	/* On profiles, level 2 compresses within 4 % of zlib's level 6 at five times its speed;
	 * level 1 is the fastest. */
	LEVEL_USUAL = 2,
	LEVEL_FAST = 1,
	LEVEL_ZSTD = 3,
};

/* A part of the data, compressed by one job. */
struct chunk {
	struct libdeflate_compressor *deflater;
	bool is_last;
	size_t len, packed_len; /* packed_len is 0 when packing failed */
	unsigned char *packed;
	size_t packed_room;
	unsigned char data[CHUNK_SIZE];
};

struct allo_packer {
	enum allo_packing packing;
	bool fast;
	allo_packed_sink sink;
	void *context;
	struct allo_error failure;

	/* gzip: chunk number N is chunks[N % CHUNKS_MAX]. */
	struct chunk *chunks[CHUNKS_MAX], *filling;
	size_t begun;
	struct allo_jobs jobs;
	uint32_t crc;
	uint32_t size; /* modulo 2^32, as in gzip's trailer */

	/* zstd */
	ZSTD_CCtx *zstd;
};

static void deflate_chunk(void *work)
{
	struct chunk *chunk = work;

	chunk->packed_len = libdeflate_deflate_compress(
		chunk->deflater, chunk->data, chunk->len, chunk->packed,
		chunk->packed_room - ALLO_DEFLATE_JOIN_ROOM);
	if (chunk->packed_len > 0 && !chunk->is_last &&
	    !allo_deflate_open_end(chunk->packed, &chunk->packed_len))
		chunk->packed_len = 0;
}

static void chunk_free(struct chunk *chunk)
{
	if (!chunk)
		return;
	libdeflate_free_compressor(chunk->deflater);
	free(chunk->packed);
	free(chunk);
}

static struct chunk *chunk_new(bool fast)
{
	struct chunk *chunk = malloc(sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->deflater = libdeflate_alloc_compressor(fast ? LEVEL_FAST : LEVEL_USUAL);
	chunk->packed_room = libdeflate_deflate_compress_bound(chunk->deflater, CHUNK_SIZE) +
			     ALLO_DEFLATE_JOIN_ROOM;
	chunk->packed = malloc(chunk->packed_room);
	if (chunk->deflater && chunk->packed)
		return chunk;
	chunk_free(chunk);
	return NULL;
}

static void send_oldest(struct allo_packer *packer)
{
	struct chunk *chunk = allo_jobs_take(&packer->jobs);

	ALLO_ASSERT(chunk && chunk->packed_len <= chunk->packed_room);
	if (chunk->packed_len == 0)
		allo_fail_memory(&packer->failure);
	else
		packer->sink(packer->context, chunk->packed, chunk->packed_len);
}

static bool begin_chunk(struct allo_packer *packer)
{
	struct chunk **chunk = &packer->chunks[packer->begun % CHUNKS_MAX];

	if (allo_jobs_under_way(&packer->jobs) == CHUNKS_MAX)
		send_oldest(packer);
	if (!*chunk)
		*chunk = chunk_new(packer->fast);
	if (!*chunk)
		return allo_fail_memory(&packer->failure);
	packer->begun++;
	packer->filling = *chunk;
	packer->filling->len = 0;
	packer->filling->is_last = false;
	return true;
}

static void put_gzip(struct allo_packer *packer, const unsigned char *data, size_t len)
{
	packer->crc = libdeflate_crc32(packer->crc, data, len);
	packer->size += (uint32_t)len;
	while (len > 0) {
		struct chunk *chunk = packer->filling;
		size_t part = CHUNK_SIZE - chunk->len;

		ALLO_ASSERT(chunk->len <= CHUNK_SIZE);
		/* A full chunk is given away only when more data follows, since the last chunk is
		 * compressed differently. */
		if (part == 0) {
			allo_jobs_give(&packer->jobs, chunk);
			if (!begin_chunk(packer))
				return;
			continue;
		}
		if (part > len)
			part = len;
		memcpy(chunk->data + chunk->len, data, part);
		chunk->len += part;
		data += part;
		len -= part;
	}
}

static void store_u32(unsigned char out[4], uint32_t number)
{
	for (int i = 0; i < 4; i++)
		out[i] = (unsigned char)(number >> 8 * i);
}

static void finish_gzip(struct allo_packer *packer)
{
	unsigned char trailer[8];

	packer->filling->is_last = true;
	allo_jobs_give(&packer->jobs, packer->filling);
	while (allo_jobs_under_way(&packer->jobs) > 0)
		send_oldest(packer);
	store_u32(trailer, packer->crc);
	store_u32(trailer + 4, packer->size);
	packer->sink(packer->context, trailer, sizeof(trailer));
}

static void put_zstd(struct allo_packer *packer, const void *data, size_t len,
		     ZSTD_EndDirective mode)
{
	ZSTD_inBuffer in = { data, len, 0 };
	char made[16 << 10];
	size_t left;

	do {
		ZSTD_outBuffer out = { made, sizeof(made), 0 };

		left = ZSTD_compressStream2(packer->zstd, &out, &in, mode);
		if (ZSTD_isError(left)) {
			allo_fail_memory(&packer->failure);
			return;
		}
		packer->sink(packer->context, made, out.pos);
	} while (in.pos < in.size || (mode == ZSTD_e_end && left > 0));
}

static bool start_gzip(struct allo_packer *packer)
{
	/* Deflate, no name, no time: the same data gives the same file.  255 is "unknown OS". */
	static const unsigned char header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };

	allo_jobs_open(&packer->jobs, deflate_chunk, allo_cpu_count() - 1);
	packer->sink(packer->context, header, sizeof(header));
	return begin_chunk(packer);
}

struct allo_packer *allo_packer_new(enum allo_packing packing, bool fast, allo_packed_sink sink,
				    void *context, struct allo_error *err)
{
	struct allo_packer *packer = calloc(1, sizeof(*packer));

	if (packer) {
		packer->packing = packing;
		packer->fast = fast;
		packer->sink = sink;
		packer->context = context;
		if (packing == ALLO_GZIP && start_gzip(packer))
			return packer;
		packer->zstd = packing == ALLO_ZSTD ? ZSTD_createCCtx() : NULL;
		if (packer->zstd) {
			ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel,
					       fast ? LEVEL_FAST : LEVEL_ZSTD);
			return packer;
		}
	}
	allo_packer_free(packer);
	allo_fail_memory(err);
	return NULL;
}

void allo_packer_put(struct allo_packer *packer, const void *data, size_t len)
{
	if (allo_failed(&packer->failure))
		return;
	if (packer->packing == ALLO_GZIP)
		put_gzip(packer, data, len);
	else
		put_zstd(packer, data, len, ZSTD_e_continue);
}

bool allo_packer_finish(struct allo_packer *packer, struct allo_error *err)
{
	if (!allo_failed(&packer->failure)) {
		if (packer->packing == ALLO_GZIP)
			finish_gzip(packer);
		else
			put_zstd(packer, NULL, 0, ZSTD_e_end);
	}
	if (allo_failed(&packer->failure) && !allo_failed(err))
		*err = packer->failure;
	return !allo_failed(err);
}

void allo_packer_free(struct allo_packer *packer)
{
	if (!packer)
		return;
	allo_jobs_close(&packer->jobs);
	for (size_t i = 0; i < CHUNKS_MAX; i++)
		chunk_free(packer->chunks[i]);
	ZSTD_freeCCtx(packer->zstd);
	free(packer);
}
