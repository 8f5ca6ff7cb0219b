/*
 * block_step.h - the inlined fast path through live_blocks.h, for loops that count something.
 *
 *     allo_block_steps_begin(&steps, &blocks, &span);
 *     for (size_t i = 0; i < span.count; i++) {
 *             if (allo_block_step_alloc(&steps, i, &created)) ...
 *             else if (allo_block_step_free(&steps, i, &ended)) ...
 *             else allo_block_step_slowly(&steps, i, &outcome, &retired, err) ...
 *     }
 *
 * Nearly all events are plain allocations, and frees of live blocks.  The first two functions are
 * inlined for them, so that outcomes stay in registers.  live_blocks.c handles all other events.
 */
#ifndef ALLO_REPLAY_BLOCK_STEP_H
#define ALLO_REPLAY_BLOCK_STEP_H

#include "base/assert.h"
#include "replay/live_blocks.h"

enum { ALLO_STEPS_AHEAD = 16 }; /* events between prefetching memory and using it */

/* A span while it is applied. */
struct allo_block_steps {
	struct allo_live_blocks *blocks;
	const struct allo_event *events;
	size_t count;
	uint64_t *last_allocated;                               /* by stream */
	uint32_t homes[ALLO_EVENTS_AT_ONCE + ALLO_STEPS_AHEAD]; /* pairs, by event */
};

static inline size_t allo_block_home(const struct allo_block_table *table, uint64_t pointer)
{
	/* Addresses are multiples of powers of two: mix both halves of the product. */
	unsigned __int128 product = (unsigned __int128)(pointer ^ table->seed) * 0x9e3779b97f4a7c15;

	return (size_t)(((uint64_t)product ^ (uint64_t)(product >> 64)) >> table->shift);
}

void allo_block_steps_begin(struct allo_block_steps *steps, struct allo_live_blocks *blocks,
			    const struct allo_event_span *span);

/* Finds a block, or NULL; takes a free place for a block that is not in the table; removes one. */
struct allo_live_block *allo_block_find(const struct allo_block_table *table, uint64_t pointer);
struct allo_live_block *allo_block_take(const struct allo_block_table *table, uint64_t pointer);
void allo_block_remove(const struct allo_block_table *table, struct allo_live_block *place);

/* Whether a recently retired block may have this address. */
static inline bool allo_block_may_be_retired(const struct allo_live_blocks *blocks,
					     uint64_t pointer)
{
	return __builtin_expect(blocks->retired_kept > 0, 0) &&
	       blocks->retired_marks[allo_retired_mark(pointer)] > 0;
}

/* Whether the fast path applies: no places are wanted, and the recording is not sampled. */
static inline bool allo_blocks_are_plain(const struct allo_live_blocks *blocks)
{
	return !blocks->places.are_wanted && !allo_is_sampled(&blocks->weighing);
}

/* Counts a new block of a stack, and returns its number. */
static inline uint32_t allo_block_number_next(struct allo_live_blocks *blocks, uint32_t stack)
{
	uint64_t number = ++blocks->made[stack] + blocks->numbered_before;

	return __builtin_expect(blocks->next_number != NULL, 0) ? *blocks->next_number
								: (uint32_t)number;
}

/* The stack whose counters a later event will probably change, for prefetching them.  The table
 * entry of a block to be freed was prefetched before; the block may be the other one of its pair,
 * or missing. */
static inline uint32_t allo_block_step_stack(const struct allo_block_steps *steps, size_t i)
{
	const struct allo_live_block *pair = &steps->blocks->table.at[2 * (size_t)steps->homes[i]];
	uint64_t pointer = i < steps->count ? steps->events[i].pointer : 0;
	uint32_t stack = pair[pair[1].pointer == pointer].stack;

	if (i < steps->count && steps->events[i].kind == ALLO_EVENT_ALLOC)
		stack = steps->events[i].stack;
	return stack;
}

/* Applies a plain allocation; false, without any effect, for any other event. */
static inline bool allo_block_step_alloc(const struct allo_block_steps *steps, size_t i,
					 struct allo_outcome *created)
{
	const struct allo_event *event = &steps->events[i];
	struct allo_live_blocks *blocks = steps->blocks;
	struct allo_live_block *pair = &blocks->table.at[2 * (size_t)steps->homes[i]], *place;
	uint64_t pointer = event->pointer, total;
	uint32_t stack = event->stack, number;

	ALLO_ASSERT(i < steps->count && steps->homes[i] <= blocks->table.mask);
	__builtin_prefetch(&blocks->table.at[2 * (size_t)steps->homes[i + ALLO_STEPS_AHEAD]], 1);
	if (event->kind != ALLO_EVENT_ALLOC)
		return false;
	if (__builtin_expect(
		    pointer == 0 || stack >= blocks->stack_count ||
			    blocks->count >= blocks->table.most ||
			    allo_block_may_be_retired(blocks, pointer) ||
			    __builtin_add_overflow(blocks->total_bytes, event->size, &total),
		    0))
		return false;
	/* The free one of the two is unpredictable: avoid a branch. */
	place = pair + (pair[0].pointer != 0);
	if (__builtin_expect((place->pointer != 0) | (pair[0].pointer == pointer) |
				     (pair[1].pointer == pointer) |
				     (blocks->table.passed[steps->homes[i]] != 0),
			     0)) {
		if (allo_block_find(&blocks->table, pointer))
			return false;
		place = allo_block_take(&blocks->table, pointer);
	}
	number = allo_block_number_next(blocks, stack);
	place->pointer = pointer;
	place->size = event->size;
	place->birth_ns = event->ns;
	place->stack = stack;
	place->number = number;
	steps->last_allocated[event->stream] = allo_block_key(stack, number);
	blocks->total_bytes = total;
	blocks->allocations++;
	blocks->count++;
	blocks->bytes += event->size;
	created->new_stack = stack;
	created->flags = ALLO_OUTCOME_CREATED;
	if (blocks->bytes > blocks->peak_bytes) {
		blocks->peak_bytes = blocks->bytes;
		blocks->peak_blocks = blocks->count;
		blocks->peak_ns = event->ns;
		created->flags = ALLO_OUTCOME_CREATED | ALLO_OUTCOME_PEAK;
	}
	return true;
}

/* The same for a plain free. */
static inline bool allo_block_step_free(const struct allo_block_steps *steps, size_t i,
					struct allo_outcome *ended)
{
	const struct allo_event *event = &steps->events[i];
	struct allo_live_blocks *blocks = steps->blocks;
	struct allo_live_block *pair = &blocks->table.at[2 * (size_t)steps->homes[i]], *place;
	uint64_t pointer = event->pointer;

	if (__builtin_expect(event->kind != ALLO_EVENT_FREE || pointer == 0 ||
				     allo_block_may_be_retired(blocks, pointer),
			     0))
		return false;
	place = pair + (pair[1].pointer == pointer);
	if (__builtin_expect(place->pointer != pointer, 0)) {
		place = allo_block_find(&blocks->table, pointer);
		if (!place)
			return false;
	}
	ended->size = place->size;
	ended->birth_ns = place->birth_ns;
	ended->stack = place->stack;
	ended->number = place->number;
	ended->flags = ALLO_OUTCOME_ENDED;
	if (steps->last_allocated[event->stream] == allo_block_key(place->stack, place->number))
		ended->flags = ALLO_OUTCOME_ENDED | ALLO_OUTCOME_TEMPORARY;
	ALLO_ASSERT(blocks->count > 0);
	blocks->frees++;
	blocks->count--;
	blocks->bytes -= place->size;
	if (__builtin_expect((size_t)(place - pair) < 2, 1))
		place->pointer = 0;
	else
		allo_block_remove(&blocks->table, place);
	return true;
}

/* Applies any event.  A retired block goes to **retired, which advances.  False when memory is
 * short. */
bool allo_block_step_slowly(struct allo_block_steps *steps, size_t i, struct allo_outcome *outcome,
			    struct allo_outcome **retired, struct allo_error *err);

/* Gives the block that an event has just made another number, where the caller numbers blocks. */
void allo_block_renumber(struct allo_live_blocks *blocks, const struct allo_event *event,
			 uint32_t number);

#endif
