/*
 * chunk_writer.h - writes a packed recording: chunks, their index, the trailer.
 */
#ifndef ALLO_REPLAY_CHUNK_WRITER_H
#define ALLO_REPLAY_CHUNK_WRITER_H

#include "base/io/output.h"
#include "replay/packed/packed_trailer.h"

/* Set out.fd to -1; all else is zero at first. */
struct allo_chunk_writer {
	struct allo_output out;
	allo_trailer index;
};

void allo_chunk_writer_done(struct allo_chunk_writer *writer);

/* Writes the file header; `version` is that of the chunks. */
void allo_chunk_writer_begin(struct allo_chunk_writer *writer, uint32_t version);

/* Sets length and hashes of a chunk header.  Any thread may call it. */
void allo_chunk_seal(struct allo_chunk *chunk, const void *packed, size_t len);

/* Writes a sealed chunk. */
bool allo_chunk_write(struct allo_chunk_writer *writer, const struct allo_chunk *chunk,
		      const void *packed, struct allo_error *err);

/* Compresses bytes and writes them as a chunk. */
bool allo_chunk_write_plain(struct allo_chunk_writer *writer, struct allo_chunk chunk,
			    const void *bytes, size_t len, struct allo_error *err);

/* Writes trailer and end, and gives the file its name.  `name` is the recording, for messages. */
bool allo_chunk_writer_finish(struct allo_chunk_writer *writer, const char *name,
			      const struct allo_summary *summary, const struct allo_gaps *gaps,
			      struct allo_error *err);

#endif
