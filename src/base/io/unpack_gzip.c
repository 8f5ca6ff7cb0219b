/* unpack_gzip.c - zlib for streams, libdeflate for whole files. */
#include "base/huge_alloc.h"
#include "base/io/unpack_method.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>

struct gzip {
	z_stream stream;
	bool between; /* between two members */
};

static void *open_gzip(void)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	/* 15 bits of window, as in every gzip file; + 16 selects gzip's framing. */
	if (gzip && inflateInit2(&gzip->stream, 15 + 16) == Z_OK)
		return gzip;
	free(gzip);
	return NULL;
}

static void close_gzip(void *state)
{
	struct gzip *gzip = state;

	inflateEnd(&gzip->stream);
	free(gzip);
}

static enum allo_unpack_problem gzip_problem(int status)
{
	if (status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR)
		return ALLO_UNPACK_FINE;
	return status == Z_MEM_ERROR ? ALLO_UNPACK_NO_MEMORY : ALLO_UNPACK_DAMAGED;
}

static struct allo_unpacked unpack_gzip(void *state, struct allo_text *packed, char *out,
					size_t room)
{
	struct gzip *gzip = state;
	z_stream *stream = &gzip->stream;
	unsigned in_len = packed->len < 1u << 30 ? (unsigned)packed->len : 1u << 30;
	unsigned out_len = room < 1u << 30 ? (unsigned)room : 1u << 30;
	int status;

	if (gzip->between && in_len > 0) {
		/* Another member may follow, or zeros that some writers pad with. */
		if (packed->data[0] == '\0') {
			*packed = allo_text_from(*packed, 1);
			return (struct allo_unpacked){ .finished = true };
		}
		inflateReset(stream);
		gzip->between = false;
	}
	stream->next_in = (z_const Bytef *)packed->data;
	stream->avail_in = in_len;
	stream->next_out = (Bytef *)out;
	stream->avail_out = out_len;
	status = inflate(stream, Z_NO_FLUSH);
	*packed = allo_text_from(*packed, in_len - stream->avail_in);
	gzip->between |= status == Z_STREAM_END;
	return (struct allo_unpacked){
		.made = out_len - stream->avail_out,
		.finished = gzip->between,
		.problem = gzip_problem(status),
	};
}

const struct allo_unpack_method allo_unpack_gzip = { "gzip", open_gzip, close_gzip, unpack_gzip };

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
