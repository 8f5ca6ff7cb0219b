/*
 * event_columns.h - the bytes of events, taken apart so that they pack better, and put together.
 *
 * What stands beside each other in a block (a first byte, a pointer, a stack, a size, a time) has
 * little in common; what stands at the same place in the next event has much.  Pointers are taken
 * apart once more, into their bytes: of a Python program, that alone halves the file.  Putting
 * together gives the same bytes back.  doc/formats/allo.md has the details.
 */
#ifndef ALLO_REPLAY_EVENT_COLUMNS_H
#define ALLO_REPLAY_EVENT_COLUMNS_H

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

enum allo_event_column {
	ALLO_COLUMN_BLOCKS,     /* headers of blocks */
	ALLO_COLUMN_KINDS,      /* a byte an event or escape */
	ALLO_COLUMN_POINTERS_0, /* codes of pointers, their lowest bytes */
	ALLO_COLUMN_POINTERS_1,
	ALLO_COLUMN_POINTERS_2,
	ALLO_COLUMN_POINTERS_3,
	ALLO_COLUMN_WIDE, /* the rest of those that have more than 32 bits, varints */
	ALLO_COLUMN_STACKS,
	ALLO_COLUMN_SIZES,
	ALLO_COLUMN_TIMES,
	ALLO_COLUMNS
};

/* All zeros is ready for use. */
struct allo_columns {
	ALLO_VEC(uint8_t) column[ALLO_COLUMNS];
	bool was_timed; /* whether times followed events where they begin */
};

void allo_columns_done(struct allo_columns *columns);

/* Takes blocks with their headers apart.  `is_timed` tells whether times follow events, and is
 * brought up to date for the next blocks of the stream.  False when memory is short; or, with
 * `is_odd` set, when they do not look like events as our runtime writes them. */
bool allo_columns_split(struct allo_columns *columns, struct allo_text blocks, bool *is_timed,
			bool *is_odd, struct allo_error *err);

/* Bytes that packed columns may need. */
size_t allo_columns_bound(const struct allo_columns *columns);

/* Packs columns into so many bytes; their number, or 0 at failure. */
size_t allo_columns_pack(const struct allo_columns *columns, struct ZSTD_CCtx_s *zstd, int level,
			 void *packed, size_t room);

/* Unpacks and puts together; false where that does not give exactly `len` bytes. */
bool allo_columns_join(struct ZSTD_DCtx_s *zstd, struct allo_text packed, uint8_t *out, size_t len,
		       struct allo_error *err);

#endif
