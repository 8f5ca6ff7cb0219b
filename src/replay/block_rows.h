/*
 * block_rows.h - every allocation of a recording as a row: its birth, its end, its site.
 *
 * Rows come in the order in which blocks end; blocks that never end come last, in the order of
 * their birth.  Memory use grows with the number of live blocks.
 */
#ifndef ALLO_REPLAY_BLOCK_ROWS_H
#define ALLO_REPLAY_BLOCK_ROWS_H

#include "replay/recording/recording.h"
#include "replay/view.h"
#include "replay/window.h"

/* Stand for "no time" and "no stream". */
#define ALLO_NEVER ((uint64_t)INT64_MAX)
enum { ALLO_NO_STREAM = UINT32_MAX };

enum allo_row_flag {
	ALLO_ROW_RESIZED = 1,    /* realloc made it out of another block */
	ALLO_ROW_RESIZED_ON = 2, /* it ended by a realloc that made another block out of it */
	ALLO_ROW_TEMPORARY = 4,  /* its thread freed it before its next allocation */
};

struct allo_block_row {
	uint64_t number;       /* among all allocations, from 1, in the order of their birth */
	uint64_t first_number; /* the same, or that of the first block of a chain of reallocs */
	uint64_t alloc_ns;     /* since the start of the recording */
	uint64_t first_ns;     /* the same, or that of the first block of a chain of reallocs */
	uint64_t free_ns;      /* ALLO_NEVER: live at the end */
	uint64_t size;
	uint64_t pointer;     /* the address; in a packed recording the name: see event_stream.h */
	uint32_t stack;       /* number of a node; 0 if not known */
	uint32_t first_stack; /* the same, of the first block of the chain */
	uint32_t labels, first_labels;      /* label sets that the thread had */
	uint32_t alloc_stream, free_stream; /* indexes in the recording's streams */
	uint32_t reallocs;                  /* before this block in its chain */
	unsigned flags;
};

/* Receives rows; false stops the replay. */
typedef bool allo_take_rows(void *context, const struct allo_block_row *rows, size_t count,
			    struct allo_error *err);

/* Rows of blocks that were live at any time of a window.  NULL stands for the whole recording. */
bool allo_block_rows(struct allo_recording *recording, const struct allo_window *window,
		     allo_take_rows *take, void *context, struct allo_error *err);

/* An instant between two events.  A time would not do: many events have the same time, since a busy
 * thread reads the clock only now and then. */
struct allo_instant {
	uint64_t born, ended; /* blocks of all threads, before the instant */
};

/* The first time that blocks of the wanted threads (by stream; NULL: all) held the most bytes. */
bool allo_instant_of_peak(struct allo_instant *instant, struct allo_recording *recording,
			  const bool *threads, struct allo_error *err);

/* After the last event that is not later than a time. */
bool allo_instant_at(struct allo_instant *instant, struct allo_recording *recording, uint64_t ns,
		     struct allo_error *err);

/* The instant of a view that was resolved to a window: its end, or the peak of its threads. */
bool allo_instant_of_view(struct allo_instant *instant, struct allo_recording *recording,
			  enum allo_view_instant at, const struct allo_window *window,
			  struct allo_error *err);

/* Rows of blocks of wanted threads (by stream; NULL: all) that were live at an instant. */
bool allo_block_rows_at(struct allo_recording *recording, const struct allo_instant *instant,
			const bool *threads, allo_take_rows *take, void *context,
			struct allo_error *err);

#endif
