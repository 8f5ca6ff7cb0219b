/*
 * packed.h - the layout of a packed recording file.
 *
 *     struct allo_packed_head
 *     chunks: struct allo_chunk and its packed bytes, each; the head comes first, then stacks and
 *             facts, then threads, then events in the order of their time, then names and the
 *             index, if they have been stored, then the trailer
 *     struct allo_packed_end
 *
 * Stacks and facts are slots as in layout.h, each with its header and only its used bytes.  Events
 * are columns; see doc/formats/allo.md.
 */
#ifndef ALLO_WIRE_PACKED_H
#define ALLO_WIRE_PACKED_H

#include <stdint.h>

#define ALLO_PACKED_MAGIC     "ALLOpck1"
#define ALLO_PACKED_END_MAGIC "ALLOend1"

enum {
	/* 1 has addresses; 2 has no notes; 3 has no model; 4 has no functions of interpreters */
	ALLO_PACKED_VERSION = 5,
	ALLO_PACKED_WITH_SUMS = 6,     /* of bounded recordings */
	ALLO_PACKED_OLDEST = 2,        /* oldest version that is read */
	ALLO_CHUNK_MAGIC = 0x4b484341, /* "ACHK" */
	ALLO_CHUNK_RAW_MAX = 64 << 20, /* maximum unpacked bytes of a chunk */
};

struct allo_packed_head {
	char magic[8];
	uint32_t version;
	uint32_t byte_order; /* ALLO_BYTE_ORDER */
};

/* Kinds of chunks, in addition to stacks and facts (enum allo_stream_kind). */
enum allo_chunk_kind {
	ALLO_CHUNK_HEAD = 16,    /* slot 0 of the raw recording */
	ALLO_CHUNK_TRAILER = 17, /* summary and index */
	ALLO_CHUNK_THREADS = 18, /* array of struct allo_packed_thread */
	ALLO_CHUNK_EVENTS = 19,
	ALLO_CHUNK_NAMES = 20, /* of frames: a table of profile/name_table.h */
	ALLO_CHUNK_INDEX = 21, /* a part of a struct allo_packed_index and the bytes behind it */
	ALLO_CHUNK_SUMS = 22,  /* of a bounded recording, before the events; see doc/ring.md */
};

struct allo_chunk {
	uint32_t magic;
	uint32_t kind;             /* enum allo_stream_kind or enum allo_chunk_kind */
	uint32_t stream, sequence; /* sequence of its first slot, or of the chunk of events */
	uint32_t count;            /* of slots, events or named addresses */
	uint32_t raw_len, packed_len;
	uint32_t unused;
	uint64_t hash;      /* XXH64 of the packed bytes after this struct, seed 0 */
	uint64_t head_hash; /* XXH64 of this struct up to here, seed 0 */
};

/* A thread, identified by its index in the array. */
struct allo_packed_thread {
	uint32_t stream, thread; /* stream of the raw recording; thread id */
	uint64_t dropped;        /* events that could not be recorded */
	char name[16];           /* not NUL-terminated if all 16 bytes are used */
};

/* The head of an index.  Other versions of its content, and that of another recording, are ignored.
 */
struct allo_packed_index {
	char magic[8];
	uint32_t version; /* of the content */
	uint32_t unused;
	uint64_t recording; /* hash of the chunks that it was made from */
	uint64_t len;       /* bytes of the content */
};

#define ALLO_PACKED_INDEX_MAGIC "ALLOidx1"

struct allo_packed_end {
	uint64_t trailer; /* file offset of the trailer chunk */
	char magic[8];
};

#endif
