/*
 * event_columns.h - the events of a packed recording as columns.
 *
 * The fields of one event (kind, stack, size, time) have little in common, but the same field of
 * successive events has much, and most values can be predicted.  Blocks have no addresses, which
 * are nearly random, but names: the stack and the number of the block among those of the stack.  A
 * program that repeats itself repeats its columns, wherever malloc puts its blocks.  So a packed
 * event takes a few hundredths of the bytes of a raw one.  See doc/formats/allo.md.
 *
 * Reader and writer keep the same state from the first event on.
 */
#ifndef ALLO_REPLAY_EVENT_COLUMNS_H
#define ALLO_REPLAY_EVENT_COLUMNS_H

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"
#include "replay/live_blocks.h"
#include "replay/packed/event_model.h"

struct ZSTD_CCtx_s;
struct allo_zstd_unpacker;

enum allo_event_column {
	ALLO_COLUMN_KINDS,        /* a byte per event */
	ALLO_COLUMN_STACKS,       /* of new blocks, unless predicted */
	ALLO_COLUMN_SIZES,        /* of new blocks, unless predicted */
	ALLO_COLUMN_ENDED_STACKS, /* of blocks that end, unless predicted */
	ALLO_COLUMN_ENDED,        /* numbers of blocks that end: a byte, */
	ALLO_COLUMN_ENDED_LOW,    /* if that is not enough a second byte, */
	ALLO_COLUMN_ENDED_HIGH,   /* and a varint */
	ALLO_COLUMN_TIME_GAPS,    /* number of events between two times */
	ALLO_COLUMN_TIMES,        /* a byte per time, */
	ALLO_COLUMN_LONG_TIMES,   /* or a varint */
	ALLO_COLUMN_RUN_GAPS,     /* number of events between two changes of thread */
	ALLO_COLUMN_RUNS,         /* threads */
	ALLO_COLUMN_LABELS,       /* new label sets of threads */
	ALLO_COLUMN_NOTES,        /* marks: a text; events of the program: also stack and units */
	ALLO_COLUMN_MODELLED,     /* replaces the columns before TIME_GAPS: see event_model.h */
	ALLO_COLUMN_SURE_RUNS,    /* the same */
	ALLO_COLUMNS,
	ALLO_COLUMNS_WITHOUT_NOTES = ALLO_COLUMN_LABELS,   /* in packed recordings of version 2 */
	ALLO_COLUMNS_WITHOUT_MODEL = ALLO_COLUMN_MODELLED, /* of version 3 */
};

enum {
	/* Most events of a chunk.  Repetitions are found within a chunk only. */
	ALLO_COLUMN_EVENTS_MAX = 1 << 20,
};

/* The state of a stack, equal in reader and writer. */
struct allo_column_site {
	uint64_t size;       /* of its last block */
	uint32_t next;       /* stack of the allocation after its last one */
	uint32_t next_ended; /* stack of the block that ended after its last one */
	uint32_t blocks;     /* numbers given so far */
	uint32_t last_ended; /* number of its last block that ended */
};

struct allo_column_state {
	struct allo_column_site *sites; /* by stack */
	size_t site_count;
	uint32_t stack, ended_stack; /* of the last allocation, and of the last block that ended */
	uint32_t thread;             /* of the last event */
	uint64_t ns;                 /* rounded, as the reader knows it */
	uint64_t exact_ns;           /* exact, of the last event; writer only */
	uint64_t notes;              /* labels, marks and events of the program; reader only */
	uint64_t silent;             /* silent events (event_stream.h); reader only */
};

bool allo_column_state_init(struct allo_column_state *state, size_t site_count,
			    struct allo_error *err);
void allo_column_state_done(struct allo_column_state *state);

/* Columns under construction. */
struct allo_event_columns {
	const uint32_t *threads; /* by stream: number of the thread; owned by the caller */
	/* Set it before the first event: a model will code the events.  Then `steps` takes the
	 * place of the columns that the model replaces. */
	bool is_for_model;
	ALLO_VEC(struct allo_model_step) steps;
	ALLO_VEC(uint8_t) column[ALLO_COLUMNS];
	uint32_t count; /* events */
	uint32_t last_time,
		last_run; /* number of events before the last time, and the last change of thread */
};

/* Empties the columns. */
void allo_event_columns_begin(struct allo_event_columns *columns);

void allo_event_columns_done(struct allo_event_columns *columns);

/* Applies events to `blocks` and adds them; each may become two.  False when memory is short. */
bool allo_event_columns_put(struct allo_event_columns *columns, struct allo_column_state *state,
			    struct allo_live_blocks *blocks, const struct allo_event_span *span,
			    struct allo_error *err);

/* The total of bytes. */
size_t allo_event_columns_size(const struct allo_event_columns *columns);

/* The most bytes that they take when packed. */
size_t allo_event_columns_bound(const struct allo_event_columns *columns);

/* Packs columns into `room` bytes.  Returns the number of bytes, or 0 on failure. */
size_t allo_event_columns_pack(const struct allo_event_columns *columns, struct ZSTD_CCtx_s *zstd,
			       void *packed, size_t room);

/* Reads columns. */
struct allo_column_reader {
	const uint8_t *at[ALLO_COLUMNS], *end[ALLO_COLUMNS];
	size_t left; /* events not yet read */
	uint64_t until_time,
		until_run; /* events before the next time, and the next change of thread */
	bool is_damaged;
	bool is_modelled; /* if so, set `model`, which must have seen all earlier chunks */
	struct allo_event_model *model; /* owned by the caller */
	struct allo_range_coder coder;
};

/* Reads columns that are not packed. */
bool allo_event_columns_look(struct allo_column_reader *reader,
			     const struct allo_event_columns *columns);

/* Unpacks the first `count` columns into exactly `len` bytes; the other columns are empty.  False
 * if they are damaged. */
bool allo_event_columns_unpack(struct allo_column_reader *reader,
			       struct allo_zstd_unpacker *unpacker, size_t count, size_t events,
			       struct allo_text packed, uint8_t *bytes, size_t len);

/* Reads at most `room` events.  Returns their number: 0 at the end, and if the columns are damaged
 * or the model is short of memory.  allo_event.stream is the number of a thread, less than
 * `threads`; pointers are names (event_stream.h).  Texts and label sets may be missing in the
 * recording. */
size_t allo_event_columns_take(struct allo_column_reader *reader, struct allo_column_state *state,
			       struct allo_event *events, size_t room, size_t threads);

#endif
