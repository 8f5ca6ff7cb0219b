/*
 * packed.h - how a recording lies in the file that is kept.
 *
 *     struct allo_packed_head
 *     chunks: struct allo_chunk and its packed bytes, each; the head comes first, then stacks and
 *             facts, then threads, then events in the order of their time, then names, if they
 *             have been stored, then the trailer
 *     struct allo_packed_end
 *
 * Stacks and facts are blocks as layout.h has them, each with its header and as many bytes as it
 * uses: a struct allo_wire_slot stands for a slot of the raw recording.  Events are columns; see
 * doc/formats/allo.md.
 */
#ifndef ALLO_WIRE_PACKED_H
#define ALLO_WIRE_PACKED_H

#include <stdint.h>

#define ALLO_PACKED_MAGIC     "ALLOpck1"
#define ALLO_PACKED_END_MAGIC "ALLOend1"

enum {
	ALLO_PACKED_VERSION = 4,       /* 1 had addresses, 2 no notes, 3 no model */
	ALLO_PACKED_OLDEST = 2,        /* that is still read */
	ALLO_CHUNK_MAGIC = 0x4b484341, /* "ACHK" */
	ALLO_CHUNK_RAW_MAX = 64 << 20, /* bytes that a chunk may unpack to */
};

struct allo_packed_head {
	char magic[8];
	uint32_t version;
	uint32_t byte_order; /* ALLO_BYTE_ORDER */
};

/* Kinds of chunks beside those of the streams of stacks and facts. */
enum allo_chunk_kind {
	ALLO_CHUNK_HEAD = 16,    /* what the raw recording's slot 0 holds */
	ALLO_CHUNK_TRAILER = 17, /* the summary and an index */
	ALLO_CHUNK_THREADS = 18, /* struct allo_packed_thread, a row of them */
	ALLO_CHUNK_EVENTS = 19,
	ALLO_CHUNK_NAMES = 20, /* of frames: a table of profile/name_table.h */
};

struct allo_chunk {
	uint32_t magic;
	uint32_t kind;             /* enum allo_stream_kind or enum allo_chunk_kind */
	uint32_t stream, sequence; /* sequence of its first block, or of the chunk of events */
	uint32_t count;            /* of blocks, events or named addresses */
	uint32_t raw_len, packed_len;
	uint32_t unused;
	uint64_t hash;      /* XXH64 of the packed bytes behind this struct, seed 0 */
	uint64_t head_hash; /* XXH64 of this struct up to here, seed 0 */
};

/* A thread, by its place in the row. */
struct allo_packed_thread {
	uint32_t stream, thread; /* of the raw recording; the kernel's number */
	uint64_t dropped;        /* events that could not be recorded */
	char name[16];           /* may be full, without a NUL */
};

struct allo_packed_end {
	uint64_t trailer; /* where its chunk is */
	char magic[8];
};

#endif
