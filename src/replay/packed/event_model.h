/*
 * event_model.h - events, each in as few bits as those before it leave open.
 *
 * Columns (event_columns.h) are packed by looking for stretches that were there before.  A program
 * whose blocks end in an order as good as random has few of these: its stretches are short, and
 * which block it is costs more than all else.  The model knows what followed when the last four
 * events were the same, the sizes that a stack has under the same circumstances, and which blocks
 * are live; the rest is written by a range coder.  Reading it takes twice as long.
 *
 * What an event's bits are is written down once, for who writes and who reads it.
 */
#ifndef ALLO_REPLAY_EVENT_MODEL_H
#define ALLO_REPLAY_EVENT_MODEL_H

#include "replay/event_stream.h"
#include "replay/packed/range_coder.h"

enum {
	/* Stacks that a model can be of. */
	ALLO_MODEL_STACKS_MAX = 1 << 27,
	/* The most bytes that an event takes, in either row. */
	ALLO_MODEL_EVENT_MAX = 512,
};

struct allo_event_model;

/* Of the stacks below `stacks`; NULL when memory is short. */
struct allo_event_model *allo_event_model_new(size_t stacks);
void allo_event_model_free(struct allo_event_model *model);

/* Events for a model to write, in as little memory as will do: they go from one core to another.
 * Who and when, and what belongs to notes, is left to others. */
struct allo_model_step {
	uint32_t symbol; /* what happens, and to which stack's block: see allo_model_symbol() */
	uint32_t number; /* of the block that ends; or the size of the new one, see below */
};

enum {
	ALLO_MODEL_STEPS_MAX = 3, /* that an event takes */
	ALLO_MODEL_UNKNOWN = 8,   /* added to the kind where the block that ends is not known */
	ALLO_MODEL_WHAT_BITS = 4,
};

/* An event of some kind; `stack` is that of the block that ends, or else of the new one. */
static inline uint32_t allo_model_symbol(uint32_t what, uint32_t stack)
{
	return (stack << ALLO_MODEL_WHAT_BITS | what) + 1;
}

/* A new block, its stack being in the symbol: of a realloc, a step of its own, with its stack alone
 * for a symbol.  Returns the place behind it. */
static inline struct allo_model_step *allo_model_put_created(struct allo_model_step *step,
							     uint32_t symbol, uint64_t size)
{
	bool is_large = size >= UINT32_MAX;

	*step++ = (struct allo_model_step){ symbol, is_large ? UINT32_MAX : (uint32_t)size };
	if (is_large)
		*step++ = (struct allo_model_step){ (uint32_t)(size >> 32), (uint32_t)size };
	return step;
}

/* An event of a packed recording. */
struct allo_model_step *allo_model_put_event(struct allo_model_step *step,
					     const struct allo_event *event);

/* Writes events, ALLO_EVENTS_AT_ONCE or those up to the end: returns the place behind them, or NULL
 * when memory is short. */
const struct allo_model_step *allo_event_model_write(struct allo_event_model *model,
						     struct allo_range_coder *coder,
						     const struct allo_model_step *steps,
						     const struct allo_model_step *end);

/* Reads events: kind, stack, size, pointer, old.  How many; fewer than asked for where they are
 * damaged, or memory is short. */
size_t allo_event_model_read(struct allo_event_model *model, struct allo_range_coder *coder,
			     struct allo_event *events, size_t count);

/* Whether memory was. */
bool allo_event_model_is_short(const struct allo_event_model *model);

#endif
