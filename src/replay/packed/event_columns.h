/*
 * event_columns.h - the events of all threads as a packed recording has them, taken apart into
 * columns.
 *
 * What stands beside each other in an event (what happened, a stack, a size, a time) has little in
 * common; what stands at the same place in the next event has much, and most of it can be
 * predicted.  Blocks have no addresses here, which are as good as random, but names: the
 * how-manieth of its stack a block is.  A program that does the same once more has the same columns
 * once more, wherever malloc puts its blocks; so a packed event takes some hundredths of the bytes
 * of a raw one.  doc/formats/allo.md has the details.
 *
 * Who reads columns keeps the same state as who writes them, from the first event on.
 */
#ifndef ALLO_REPLAY_EVENT_COLUMNS_H
#define ALLO_REPLAY_EVENT_COLUMNS_H

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"
#include "replay/live_blocks.h"
#include "replay/packed/event_model.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

enum allo_event_column {
	ALLO_COLUMN_KINDS,        /* a byte an event */
	ALLO_COLUMN_STACKS,       /* of new blocks, where not as predicted */
	ALLO_COLUMN_SIZES,        /* the same */
	ALLO_COLUMN_ENDED_STACKS, /* of blocks that end, where not as predicted */
	ALLO_COLUMN_ENDED,        /* which of their blocks: a byte, */
	ALLO_COLUMN_ENDED_LOW,    /* where that is not enough another one, */
	ALLO_COLUMN_ENDED_HIGH,   /* and a number */
	ALLO_COLUMN_TIME_GAPS,    /* events from one time to the next */
	ALLO_COLUMN_TIMES,        /* a byte each, */
	ALLO_COLUMN_LONG_TIMES,   /* or a number */
	ALLO_COLUMN_RUN_GAPS,     /* events from one change of thread to the next */
	ALLO_COLUMN_RUNS,         /* threads */
	ALLO_COLUMN_LABELS,       /* sets that threads have from there on */
	ALLO_COLUMN_NOTES,     /* of marks a text; of the program's events also stack and units */
	ALLO_COLUMN_MODELLED,  /* in place of the columns up to times: see event_model.h */
	ALLO_COLUMN_SURE_RUNS, /* the same */
	ALLO_COLUMNS,
	ALLO_COLUMNS_WITHOUT_NOTES = ALLO_COLUMN_LABELS,   /* in packed recordings of version 2 */
	ALLO_COLUMNS_WITHOUT_MODEL = ALLO_COLUMN_MODELLED, /* of version 3 */
};

enum {
	/* In a chunk.  What a program does again can be seen only within one. */
	ALLO_COLUMN_EVENTS_MAX = 1 << 20,
};

/* What both sides know of a stack. */
struct allo_column_site {
	uint64_t size;       /* of its last block */
	uint32_t next;       /* stack whose allocation followed its last one */
	uint32_t next_ended; /* stack whose block ended after its last one had */
	uint32_t blocks;     /* numbers given so far */
	uint32_t last_ended; /* number of the last one that ended */
};

struct allo_column_state {
	struct allo_column_site *sites; /* by stack */
	size_t site_count;
	uint32_t stack, ended_stack; /* the last ones */
	uint32_t thread;             /* of the last event */
	uint64_t ns;                 /* as both sides know it */
	uint64_t told_ns;            /* of the last event that was written */
	uint64_t notes;  /* labels, marks and events of the program's own that were read */
	uint64_t silent; /* events that were read and are nothing that the program did */
};

bool allo_column_state_init(struct allo_column_state *state, size_t site_count,
			    struct allo_error *err);
void allo_column_state_done(struct allo_column_state *state);

/* Columns while they are written. */
struct allo_event_columns {
	const uint32_t *threads; /* by stream, which number each has; it belongs to somebody else */
	/* To be set before the first one: a model will write the events.  They are kept for it in
	 * place of the columns that it makes unnecessary. */
	bool is_for_model;
	ALLO_VEC(struct allo_model_step) steps;
	ALLO_VEC(uint8_t) column[ALLO_COLUMNS];
	uint32_t count;               /* events */
	uint32_t last_time, last_run; /* events before the last ones of these */
};

/* Starts anew. */
void allo_event_columns_begin(struct allo_event_columns *columns);

void allo_event_columns_done(struct allo_event_columns *columns);

/* Lets events happen to the blocks, and adds them; each may count as two.  False when memory is
 * short. */
bool allo_event_columns_put(struct allo_event_columns *columns, struct allo_column_state *state,
			    struct allo_live_blocks *blocks, const struct allo_event_span *span,
			    struct allo_error *err);

/* Their bytes in all. */
size_t allo_event_columns_size(const struct allo_event_columns *columns);

/* Bytes that they may need when packed. */
size_t allo_event_columns_bound(const struct allo_event_columns *columns);

/* Packs columns into so many bytes; their number, or 0 at failure. */
size_t allo_event_columns_pack(const struct allo_event_columns *columns, struct ZSTD_CCtx_s *zstd,
			       void *packed, size_t room);

/* Columns while they are read; they lie one behind the other in `bytes`. */
struct allo_column_reader {
	const uint8_t *at[ALLO_COLUMNS], *end[ALLO_COLUMNS];
	size_t left;                    /* events that are still to be taken */
	uint64_t until_time, until_run; /* events before these */
	bool is_damaged;
	bool is_modelled; /* then there must be a model, which has seen all events before: */
	struct allo_event_model *model; /* it belongs to somebody else */
	struct allo_range_coder coder;
};

/* Looks at columns as they are written, without packing them. */
bool allo_event_columns_look(struct allo_column_reader *reader,
			     const struct allo_event_columns *columns);

/* Unpacks the first `count` columns of so many events, the other columns being empty, into room for
 * `len` bytes, which they must come to. */
bool allo_event_columns_unpack(struct allo_column_reader *reader, struct ZSTD_DCtx_s *zstd,
			       size_t count, size_t events, struct allo_text packed, uint8_t *bytes,
			       size_t len);

/* Takes the next events of `threads` threads, at most `room`; their number, which is 0 at the end
 * and where they are damaged.  Streams are threads' numbers, and pointers are names; see
 * event_stream.h.  Texts and sets of labels need not be there.  Those of a model that is short
 * of memory seem damaged. */
size_t allo_event_columns_take(struct allo_column_reader *reader, struct allo_column_state *state,
			       struct allo_event *events, size_t room, size_t threads);

#endif
