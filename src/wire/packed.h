/*
 * packed.h - how a recording lies in the file that is kept.
 *
 *     struct allo_packed_head
 *     chunks: struct allo_chunk and its packed bytes, each; the head comes first, then stacks and
 *             facts, then events in the order of their time, then the trailer
 *     struct allo_packed_end
 *
 * What a chunk of a stream unpacks to are blocks as layout.h has them, each with its header and as
 * many bytes as it uses: a struct allo_wire_slot stands for a slot of the raw recording.
 */
#ifndef ALLO_WIRE_PACKED_H
#define ALLO_WIRE_PACKED_H

#include <stdint.h>

#define ALLO_PACKED_MAGIC     "ALLOpck1"
#define ALLO_PACKED_END_MAGIC "ALLOend1"

enum {
	ALLO_PACKED_VERSION = 1,
	ALLO_CHUNK_MAGIC = 0x4b484341, /* "ACHK" */
	/* Bytes that a chunk may unpack to; and the trailer, which is one. */
	ALLO_CHUNK_RAW_MAX = 4 << 20,
	ALLO_TRAILER_RAW_MAX = 64 << 20,
};

struct allo_packed_head {
	char magic[8];
	uint32_t version;
	uint32_t byte_order; /* ALLO_BYTE_ORDER */
};

/* Kinds of chunks beside those of streams. */
enum allo_chunk_kind {
	ALLO_CHUNK_HEAD = 16,    /* what the raw recording's slot 0 holds */
	ALLO_CHUNK_TRAILER = 17, /* the summary and an index */
};

enum allo_chunk_coding {
	ALLO_CODING_PLAIN = 1,   /* one zstd frame */
	ALLO_CODING_COLUMNS = 2, /* events taken apart; see doc/formats/allo.md */
};

struct allo_chunk {
	uint32_t magic;
	uint8_t kind;     /* enum allo_stream_kind or enum allo_chunk_kind */
	uint8_t coding;   /* enum allo_chunk_coding */
	uint8_t is_fresh; /* as its first block is */
	uint8_t unused;
	uint32_t stream, sequence, blocks; /* sequence of the first of them */
	uint32_t thread;
	uint32_t raw_len, packed_len;
	uint64_t first_ticks; /* from[0] of its first block */
	uint64_t dropped;     /* of its last block, */
	char name[16];        /* and this */
	uint64_t hash;        /* XXH64 of the packed bytes behind this struct, seed 0 */
	uint64_t head_hash;   /* XXH64 of this struct up to here, seed 0 */
};

struct allo_packed_end {
	uint64_t trailer; /* where its chunk is */
	char magic[8];
};

#endif
