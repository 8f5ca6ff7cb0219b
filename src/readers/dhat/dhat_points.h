/*
 * dhat_points.h - the program points of a DHAT file, a chunk at a time.
 *
 * Nearly all of a DHAT file is its "pps" array.  Chunks of it are parsed on their own, on any core:
 * a chunk is guessed to end where one point ends and another begins, and the parser proves the
 * guess by arriving there.
 */
#ifndef ALLO_READERS_DHAT_POINTS_H
#define ALLO_READERS_DHAT_POINTS_H

#include "base/place.h"
#include "base/vec.h"
#include "profile/notes.h"

/* Values of a program point, in the order in which the profile's metrics stand. */
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
	/* What each point must have: always, with block lifetimes, with block accesses. */
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
	ALLO_DHAT_MORE,   /* arrived at the end of the text, behind a comma */
	ALLO_DHAT_ENDED,  /* arrived at the array's closing bracket, which has been taken */
	ALLO_DHAT_INSIDE, /* the text ends within a point or without a comma */
	ALLO_DHAT_FAILED,
};

struct allo_dhat_chunk {
	/* In. */
	char *text; /* `len` bytes of the array, and a NUL behind them; the chunk's own */
	size_t len, room;
	bool is_first; /* nothing of the array has been read: it may end at once */
	bool keep_accesses;
	uint32_t required; /* what each point must have */

	/* Out. */
	enum allo_dhat_status status;
	size_t consumed;           /* bytes of the text that the points and commas took */
	struct allo_place covered; /* the way from the start of the text over those */
	ALLO_VEC(struct allo_dhat_point) points;
	ALLO_VEC(uint32_t) frames; /* of all points, one stack after the other, leaf first */
	ALLO_VEC(int32_t) accesses;
	struct allo_notes notes;   /* places are offsets in the text: pos.byte */
	struct allo_error failure; /* likewise */
};

void allo_dhat_chunk_done(struct allo_dhat_chunk *chunk);

/* Parses the text; what went wrong is in the chunk.  An allo_job. */
void allo_dhat_chunk_parse(void *chunk);

/* A place in the chunk's text, which starts at `place`; only the file where the text is gone. */
struct allo_pos allo_dhat_chunk_pos(const struct allo_dhat_chunk *chunk, struct allo_place place,
				    size_t offset, const char *file);

/* Where one point ends and another begins, as late in the text as can be seen: the offset of the
 * latter's opening brace, or 0.  A guess, since nothing before is looked at. */
size_t allo_dhat_guess_border(struct allo_text text);

#endif
