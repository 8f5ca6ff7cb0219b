/*
 * block_rows.h - the single allocations of a recording, each with its whole life.
 *
 * Rows come in the order in which blocks end; those that never do come last, in the order of
 * their birth.  Memory grows with the blocks that are live at once.
 */
#ifndef ALLO_REPLAY_BLOCK_ROWS_H
#define ALLO_REPLAY_BLOCK_ROWS_H

#include "replay/moment.h"
#include "replay/recording.h"
#include "replay/window.h"

/* In place of a time or a stream that there is not. */
#define ALLO_NEVER ((uint64_t)INT64_MAX)
enum { ALLO_NO_STREAM = UINT32_MAX };

enum allo_row_flag {
	ALLO_ROW_RESIZED = 1,    /* it was made by a realloc of another block */
	ALLO_ROW_RESIZED_ON = 2, /* it ended by a realloc, which made another block of it */
	ALLO_ROW_TEMPORARY = 4,  /* its thread freed it before it allocated again */
};

struct allo_block_row {
	uint64_t number;   /* among all allocations, from 1, in the order of their birth */
	uint64_t alloc_ns; /* since the start of the recording */
	uint64_t first_ns; /* the same, or that of the first block of a chain of reallocs */
	uint64_t free_ns;  /* ALLO_NEVER: live at the end */
	uint64_t size;
	uint64_t pointer;     /* the address; of a packed recording its name, see event_stream.h */
	uint32_t stack;       /* a node's number, 0: not known */
	uint32_t first_stack; /* the same of the chain's first block */
	uint32_t labels, first_labels;      /* that the thread had then: sets of the recording */
	uint32_t alloc_stream, free_stream; /* indexes in the recording's streams */
	unsigned flags;
};

/* Takes rows as they come; false ends it. */
typedef bool allo_take_rows(void *context, const struct allo_block_row *rows, size_t count,
			    struct allo_error *err);

/* All rows of a window: of blocks that were live at some moment of it.  It may be NULL for
 * everything. */
bool allo_block_rows(struct allo_recording *recording, const struct allo_window *window,
		     allo_take_rows *take, void *context, struct allo_error *err);

/* Those of blocks that were live at one moment, of wanted threads (by stream; NULL: all). */
bool allo_block_rows_at(struct allo_recording *recording, const struct allo_moment *moment,
			const bool *threads, allo_take_rows *take, void *context,
			struct allo_error *err);

#endif
