/*
 * dhat_points.h - parses a chunk of the program points of a DHAT file.
 *
 * Nearly all of a DHAT file is its "pps" array.  Chunks of it are parsed independently, on any
 * core: a chunk is guessed to end between two points, and the parser proves the guess by arriving
 * there.
 */
#ifndef ALLO_READERS_DHAT_POINTS_H
#define ALLO_READERS_DHAT_POINTS_H

#include "base/io/offset.h"
#include "base/vec.h"
#include "profile/notes.h"

/* Values of a program point, in the order of the profile's metrics. */
enum allo_dhat_value {
	ALLO_DHAT_TBK,
	ALLO_DHAT_TB,
	ALLO_DHAT_MBK,
	ALLO_DHAT_MB,
	ALLO_DHAT_GBK,
	ALLO_DHAT_GB,
	ALLO_DHAT_EBK,
	ALLO_DHAT_EB,
	ALLO_DHAT_TL,
	ALLO_DHAT_RB,
	ALLO_DHAT_WB,
	ALLO_DHAT_VALUES
};

enum {
	ALLO_DHAT_HAS_ACC = 1 << ALLO_DHAT_VALUES,
	ALLO_DHAT_HAS_FS = ALLO_DHAT_HAS_ACC << 1,
	/* Required parts of a point: always, with block lifetimes, with block accesses. */
	ALLO_DHAT_ALWAYS = 1 << ALLO_DHAT_TB | 1 << ALLO_DHAT_TBK | ALLO_DHAT_HAS_FS,
	ALLO_DHAT_LIFETIMES = 1 << ALLO_DHAT_MBK | 1 << ALLO_DHAT_MB | 1 << ALLO_DHAT_GBK |
			      1 << ALLO_DHAT_GB | 1 << ALLO_DHAT_EBK | 1 << ALLO_DHAT_EB,
	ALLO_DHAT_ACCESSES = 1 << ALLO_DHAT_RB | 1 << ALLO_DHAT_WB,
};

struct allo_dhat_point {
	uint64_t values[ALLO_DHAT_VALUES];
	uint32_t frame_count, access_count;
	uint32_t offset;  /* in the chunk's text, for messages */
	uint32_t present; /* bits by value, ALLO_DHAT_HAS_ACC, ALLO_DHAT_HAS_FS */
};

enum allo_dhat_status {
	ALLO_DHAT_MORE,   /* reached the end of the text, after a comma */
	ALLO_DHAT_ENDED,  /* reached the array's closing bracket, and consumed it */
	ALLO_DHAT_INSIDE, /* the text ends within a point or without a comma */
	ALLO_DHAT_FAILED,
};

struct allo_dhat_chunk {
	/* In. */
	char *text; /* `len` bytes of the array and a NUL; owned by the chunk */
	size_t len, room;
	bool is_first; /* the first of the array, which may be empty */
	bool keep_accesses;
	uint32_t required; /* required parts of each point */

	/* Out. */
	enum allo_dhat_status status;
	size_t consumed; /* bytes of the text up to the last complete point and its comma */
	struct allo_offset covered; /* lines and bytes of the consumed text */
	ALLO_VEC(struct allo_dhat_point) points;
	ALLO_VEC(uint32_t) frames; /* of all points, one stack after the other, leaf first */
	ALLO_VEC(int32_t) accesses;
	struct allo_notes notes;   /* positions are offsets in the text: pos.byte */
	struct allo_error failure; /* likewise */
};

void allo_dhat_chunk_done(struct allo_dhat_chunk *chunk);

/* Parses the text; an error is stored in the chunk.  An allo_job. */
void allo_dhat_chunk_parse(void *chunk);

/* A position in the chunk's text, which starts at `place`; only the file if the text is gone. */
struct allo_pos allo_dhat_chunk_pos(const struct allo_dhat_chunk *chunk, struct allo_offset place,
				    size_t offset, const char *file);

/* Guesses the last border between two points in the text: returns the offset of the second point's
 * opening brace, or 0.  It is a guess, since the text before is not parsed. */
size_t allo_dhat_guess_border(struct allo_text text);

#endif
