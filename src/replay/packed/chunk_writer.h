/*
 * chunk_writer.h - a packed recording on its way to its file: chunks, and the index of them.
 */
#ifndef ALLO_REPLAY_CHUNK_WRITER_H
#define ALLO_REPLAY_CHUNK_WRITER_H

#include "base/output.h"
#include "replay/packed/packed_trailer.h"

/* All zeros but for `out.fd`, which is -1, is ready for use. */
struct allo_chunk_writer {
	struct allo_output out;
	allo_trailer index;
};

void allo_chunk_writer_done(struct allo_chunk_writer *writer);

/* What the file begins with; the version is that of the chunks. */
void allo_chunk_writer_begin(struct allo_chunk_writer *writer, uint32_t version);

/* Completes a chunk's head, when all else that it tells is known.  On any core. */
void allo_chunk_seal(struct allo_chunk *chunk, const void *packed, size_t len);

/* Writes a chunk that is sealed. */
bool allo_chunk_write(struct allo_chunk_writer *writer, const struct allo_chunk *chunk,
		      const void *packed, struct allo_error *err);

/* Packs bytes as they are, and writes them as a chunk. */
bool allo_chunk_write_plain(struct allo_chunk_writer *writer, struct allo_chunk chunk,
			    const void *bytes, size_t len, struct allo_error *err);

/* The trailer and the end, and the file has its name.  `name` is the recording's, for messages. */
bool allo_chunk_writer_finish(struct allo_chunk_writer *writer, const char *name,
			      const struct allo_summary *summary, const struct allo_gaps *gaps,
			      struct allo_error *err);

#endif
