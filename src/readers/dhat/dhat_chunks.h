/*
 * dhat_chunks.h - the array of program points, cut into chunks that several cores parse.
 */
#ifndef ALLO_READERS_DHAT_CHUNKS_H
#define ALLO_READERS_DHAT_CHUNKS_H

#include "base/io/input.h"
#include "readers/dhat/dhat_points.h"

struct allo_dhat_chunks {
	struct allo_input *in; /* after the array's opening bracket */
	uint32_t required;     /* required parts of each point */
	bool keep_accesses;
	/* Gets every chunk, in file order, with the position of its text. */
	bool (*take)(void *context, const struct allo_dhat_chunk *chunk, struct allo_offset place,
		     struct allo_error *err);
	void *context;
};

/* Reads up to and including the array's closing bracket. */
bool allo_dhat_read_chunks(const struct allo_dhat_chunks *asked, struct allo_error *err);

#endif
