/*
 * event_model.h - codes events by a context model and a range coder.
 *
 * Columns (event_columns.h) are packed by finding repetitions.  A program that frees its blocks in
 * nearly random order has few of them, and naming the block costs more than all else.  The model
 * predicts an event from the last four events, a size from the context of its stack, and a block
 * from the set of live blocks.  The range coder stores the remaining information.  Reading takes
 * twice as long as reading columns.
 *
 * One function codes an event both for reading and for writing.
 */
#ifndef ALLO_REPLAY_EVENT_MODEL_H
#define ALLO_REPLAY_EVENT_MODEL_H

#include "replay/events/event_stream.h"
#include "replay/packed/range_coder.h"

enum {
	/* Most stacks of a model: symbols have 32 bits. */
	ALLO_MODEL_STACKS_MAX = 1 << 27,
	/* The most bytes that an event takes in either output. */
	ALLO_MODEL_EVENT_MAX = 512,
};

struct allo_event_model;

/* A model for stacks below `stacks`; NULL when memory is short. */
struct allo_event_model *allo_event_model_new(size_t stacks);
void allo_event_model_free(struct allo_event_model *model);

/* An event for the model, in little memory, since it goes from one processor to another.  Threads,
 * times and the fields of notes stay in columns. */
struct allo_model_step {
	uint32_t symbol; /* kind and stack: see allo_model_symbol() */
	uint32_t number; /* of the block that ends, or the size of the new one */
};

enum {
	ALLO_MODEL_STEPS_MAX = 3, /* most steps of an event */
	ALLO_MODEL_UNKNOWN = 8,   /* flag of a kind: the block that ends is not known */
	ALLO_MODEL_KIND_BITS = 4,
};

/* The symbol of a kind and a stack: that of the block that ends, else of the new one. */
static inline uint32_t allo_model_symbol(uint32_t kind, uint32_t stack)
{
	return (stack << ALLO_MODEL_KIND_BITS | kind) + 1;
}

/* Adds the step of a new block, and returns the place after it.  The new block of a realloc is a
 * second step, whose symbol is the stack alone. */
static inline struct allo_model_step *allo_model_put_created(struct allo_model_step *step,
							     uint32_t symbol, uint64_t size)
{
	bool is_large = size >= UINT32_MAX;

	*step++ = (struct allo_model_step){ symbol, is_large ? UINT32_MAX : (uint32_t)size };
	if (is_large)
		*step++ = (struct allo_model_step){ (uint32_t)(size >> 32), (uint32_t)size };
	return step;
}

/* Adds the steps of an event of a packed recording, and returns the place after them. */
struct allo_model_step *allo_model_put_event(struct allo_model_step *step,
					     const struct allo_event *event);

/* Writes at most ALLO_EVENTS_AT_ONCE events.  Returns the place after their steps, or NULL when
 * memory is short. */
const struct allo_model_step *allo_event_model_write(struct allo_event_model *model,
						     struct allo_range_coder *coder,
						     const struct allo_model_step *steps,
						     const struct allo_model_step *end);

/* Reads kind, stack, size, pointer and old of events.  Returns their number: less than `count` if
 * they are damaged or memory is short. */
size_t allo_event_model_read(struct allo_event_model *model, struct allo_range_coder *coder,
			     struct allo_event *events, size_t count);

/* Whether memory was short. */
bool allo_event_model_is_short(const struct allo_event_model *model);

#endif
