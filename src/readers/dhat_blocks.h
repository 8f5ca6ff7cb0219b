/*
 * dhat_blocks.h - the array of program points, cut into blocks that several cores parse.
 */
#ifndef ALLO_READERS_DHAT_BLOCKS_H
#define ALLO_READERS_DHAT_BLOCKS_H

#include "base/input.h"
#include "readers/dhat_points.h"

struct allo_dhat_blocks {
	struct allo_input *in; /* behind the array's opening bracket */
	uint32_t required;     /* what each point must have */
	bool keep_accesses;
	/* Gets every block, in the order of the file, with the place of its text. */
	bool (*take)(void *context, const struct allo_dhat_block *block, struct allo_place place,
		     struct allo_error *err);
	void *context;
};

/* Reads up to and with the array's closing bracket. */
bool allo_dhat_read_blocks(const struct allo_dhat_blocks *asked, struct allo_error *err);

#endif
