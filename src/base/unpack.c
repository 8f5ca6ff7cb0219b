/* unpack.c - zlib and zstd for streams, libdeflate for whole files, and UTF-16. */
#include "base/unpack.h"

#include "base/huge_alloc.h"
#include "base/utf16.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct allo_unpacker {
	enum { GZIP, ZSTD, UTF16 } packing;
	bool between; /* between two gzip members or zstd frames */
	/* By packing. */
	z_stream gzip;
	ZSTD_DStream *zstd;
	struct allo_utf16 utf16;
};

const char *allo_packing_of(struct allo_text head)
{
	bool is_big_endian;

	if (allo_text_starts(head, ALLO_TEXT("\x1f\x8b")))
		return "gzip";
	if (allo_text_starts(head, ALLO_TEXT("\x28\xb5\x2f\xfd")))
		return "zstd";
	return allo_utf16_has_mark(head, &is_big_endian) ? "UTF-16" : NULL;
}

struct allo_unpacker *allo_unpacker_new(const char *packing, struct allo_error *err)
{
	struct allo_unpacker *unpacker = calloc(1, sizeof(*unpacker));

	if (unpacker && strcmp(packing, "UTF-16") == 0) {
		unpacker->packing = UTF16;
		return unpacker;
	}
	if (unpacker && strcmp(packing, "gzip") == 0) {
		unpacker->packing = GZIP;
		/* 15 bits of window, as in every gzip file; + 16 selects gzip's framing. */
		if (inflateInit2(&unpacker->gzip, 15 + 16) == Z_OK)
			return unpacker;
	} else if (unpacker) {
		unpacker->packing = ZSTD;
		unpacker->zstd = ZSTD_createDStream();
		if (unpacker->zstd)
			return unpacker;
	}
	free(unpacker);
	allo_fail_memory(err);
	return NULL;
}

void allo_unpacker_free(struct allo_unpacker *unpacker)
{
	if (!unpacker)
		return;
	if (unpacker->packing == GZIP)
		inflateEnd(&unpacker->gzip);
	else if (unpacker->packing == ZSTD)
		ZSTD_freeDStream(unpacker->zstd);
	free(unpacker);
}

static enum allo_unpack_problem gzip_problem(int status)
{
	if (status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR)
		return ALLO_UNPACK_FINE;
	return status == Z_MEM_ERROR ? ALLO_UNPACK_NO_MEMORY : ALLO_UNPACK_DAMAGED;
}

static struct allo_unpacked gunzip(struct allo_unpacker *unpacker, struct allo_text *packed,
				   char *out, size_t room)
{
	z_stream *gzip = &unpacker->gzip;
	unsigned in_len = packed->len < 1u << 30 ? (unsigned)packed->len : 1u << 30;
	unsigned out_len = room < 1u << 30 ? (unsigned)room : 1u << 30;
	int status;

	if (unpacker->between && in_len > 0) {
		/* Another member may follow, or zeros that some writers pad with. */
		if (packed->data[0] == '\0') {
			*packed = allo_text_from(*packed, 1);
			return (struct allo_unpacked){ .finished = true };
		}
		inflateReset(gzip);
		unpacker->between = false;
	}
	gzip->next_in = (z_const Bytef *)packed->data;
	gzip->avail_in = in_len;
	gzip->next_out = (Bytef *)out;
	gzip->avail_out = out_len;
	status = inflate(gzip, Z_NO_FLUSH);
	*packed = allo_text_from(*packed, in_len - gzip->avail_in);
	unpacker->between |= status == Z_STREAM_END;
	return (struct allo_unpacked){
		.made = out_len - gzip->avail_out,
		.finished = unpacker->between,
		.problem = gzip_problem(status),
	};
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

static struct allo_unpacked unzstd(struct allo_unpacker *unpacker, struct allo_text *packed,
				   char *out, size_t room)
{
	ZSTD_inBuffer in = { packed->data, packed->len, 0 };
	ZSTD_outBuffer made = { out, room, 0 };
	size_t left = ZSTD_decompressStream(unpacker->zstd, &made, &in);

	*packed = allo_text_from(*packed, in.pos);
	/* Without progress the state stays the same. */
	if (in.pos > 0 || made.pos > 0)
		unpacker->between = left == 0;
	return (struct allo_unpacked){ made.pos, unpacker->between, zstd_problem(left) };
}

/* The mark at the start of the text gives the byte order.  A text may end anywhere. */
static struct allo_unpacked decode(struct allo_unpacker *unpacker, struct allo_text *packed,
				   char *out, size_t room)
{
	if (!unpacker->between)
		allo_utf16_has_mark(*packed, &unpacker->utf16.is_big_endian);
	unpacker->between = true;
	return (struct allo_unpacked){
		.made = allo_utf16_decode(&unpacker->utf16, packed, out, room), .finished = true
	};
}

struct allo_unpacked allo_unpack(struct allo_unpacker *unpacker, struct allo_text *packed,
				 char *out, size_t room)
{
	switch (unpacker->packing) {
	case GZIP:
		return gunzip(unpacker, packed, out, room);
	case ZSTD:
		return unzstd(unpacker, packed, out, room);
	default:
		return decode(unpacker, packed, out, room);
	}
}

char *allo_gunzip_whole(struct allo_text packed, size_t most, size_t *len)
{
	struct libdeflate_decompressor *inflater;
	enum libdeflate_result result;
	unsigned char tail[4];
	size_t used, claimed;
	char *data;

	if (packed.len < 18) /* header, one empty block, trailer */
		return NULL;
	/* The last four bytes claim the size modulo 2^32.  Trust it only up to `most` and up to
	 * deflate's best ratio, 1032 to 1. */
	memcpy(tail, packed.data + packed.len - 4, sizeof(tail));
	claimed = tail[0] | tail[1] << 8 | tail[2] << 16 | (size_t)tail[3] << 24;
	if (claimed > most || claimed / 1032 > packed.len)
		return NULL;
	data = allo_huge_alloc(claimed ? claimed : 1);
	inflater = data ? libdeflate_alloc_decompressor() : NULL;
	if (!inflater) {
		free(data);
		return NULL;
	}
	result = libdeflate_gzip_decompress_ex(inflater, packed.data, packed.len, data, claimed,
					       &used, len);
	libdeflate_free_decompressor(inflater);
	if (result != LIBDEFLATE_SUCCESS || used != packed.len) {
		free(data);
		return NULL;
	}
	return data;
}
