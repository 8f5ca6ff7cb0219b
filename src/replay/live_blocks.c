/* live_blocks.c - the hash table of live blocks, retired blocks, and the slow path of events. */
#include "replay/live_blocks.h"

#include "base/assert.h"
#include "base/hash.h"
#include "base/huge_alloc.h"
#include "base/trust.h"
#include "replay/block_step.h"
#include "replay/recording/resident.h"
#include "replay/ring/earlier.h"

#include <stdlib.h>

enum {
	FIRST_PAIRS = 1 << 11,
	SPARSE_PAIRS = 1 << 18, /* 16 MiB */
};

/* Homes of pairs are 32-bit numbers (block_step.h). */
static const uint64_t most_pairs = (uint64_t)1 << 32;

/* Limit of the table in bytes, against packed files of hostile origin.  The first is for 20 million
 * live blocks; the second leaves room for real recordings, which need bytes for each block. */
static const uint64_t table_least = (uint64_t)1 << 30, table_ratio = 1000;

/* The table. */

static bool set_table(struct allo_block_table *table, size_t pairs, struct allo_error *err)
{
	struct allo_live_block *at = NULL;
	uint8_t *passed = NULL;
	size_t size;

	ALLO_ASSERT(pairs > 0 && (pairs & (pairs - 1)) == 0);
	if (pairs <= most_pairs && !__builtin_mul_overflow(pairs, 2 * sizeof(*at), &size)) {
		at = allo_huge_alloc(size);
		passed = calloc(pairs, 1);
	}
	if (!at || !passed) {
		free(at);
		free(passed);
		return allo_fail_memory(err);
	}
	table->at = memset(at, 0, size);
	table->passed = passed;
	table->mask = pairs - 1;
	/* A small table is at most a quarter full, so that nearly all blocks are in their home
	 * pair; a large one at most five eighths. */
	table->most = pairs <= SPARSE_PAIRS ? pairs / 2 : pairs / 4 * 5;
	table->shift = 64 - (unsigned)__builtin_ctzll(pairs);
	return true;
}

struct allo_live_block *allo_block_find(const struct allo_block_table *table, uint64_t pointer)
{
	if (pointer == 0)
		return NULL;
	for (size_t at = allo_block_home(table, pointer);; at = (at + 1) & table->mask) {
		struct allo_live_block *pair = &table->at[2 * at];

		if (pair[0].pointer == pointer)
			return &pair[0];
		if (pair[1].pointer == pointer)
			return &pair[1];
		if (table->passed[at] == 0)
			return NULL;
	}
}

struct allo_live_block *allo_block_take(const struct allo_block_table *table, uint64_t pointer)
{
	for (size_t at = allo_block_home(table, pointer);; at = (at + 1) & table->mask) {
		struct allo_live_block *pair = &table->at[2 * at];

		if (pair[0].pointer == 0)
			return &pair[0];
		if (pair[1].pointer == 0)
			return &pair[1];
		if (table->passed[at] < UINT8_MAX)
			table->passed[at]++;
	}
}

void allo_block_remove(const struct allo_block_table *table, struct allo_live_block *place)
{
	size_t last = (size_t)(place - table->at) / 2;

	for (size_t at = allo_block_home(table, place->pointer); at != last;
	     at = (at + 1) & table->mask) {
		/* A saturated counter stays: the true number is not known. */
		ALLO_ASSERT(table->passed[at] > 0);
		if (table->passed[at] < UINT8_MAX)
			table->passed[at]--;
	}
	place->pointer = 0;
}

static bool grow(struct allo_live_blocks *blocks, struct allo_error *err)
{
	struct allo_block_table *table = &blocks->table, old = *table;

	if (2 * (uint64_t)allo_block_places(&old) * sizeof(*old.at) >
	    allo_trust_limit(blocks->input_bytes, table_ratio, table_least))
		return allo_fail_limit(err, (struct allo_pos){ .file = blocks->file },
				       "holds more than %llu live blocks at a time in %llu bytes",
				       (unsigned long long)blocks->count,
				       (unsigned long long)blocks->input_bytes);
	if (!set_table(table, 2 * (old.mask + 1), err))
		return false;
	for (size_t i = 0; i < allo_block_places(&old); i++) {
		if (old.at[i].pointer != 0)
			*allo_block_take(table, old.at[i].pointer) = old.at[i];
	}
	free(old.at);
	free(old.passed);
	return true;
}

/* Retired blocks. */

static uint8_t *mark_of(struct allo_live_blocks *blocks, uint64_t pointer)
{
	return &blocks->retired_marks[allo_retired_mark(pointer)];
}

static void forget_retired(struct allo_live_blocks *blocks, struct allo_retired_block *retired)
{
	if (retired->block.pointer != 0) {
		ALLO_ASSERT(blocks->retired_kept > 0);
		--*mark_of(blocks, retired->block.pointer);
		blocks->retired_kept--;
	}
	*retired = (struct allo_retired_block){ 0 };
}

/* The retired block that an event may refer to, or NULL. */
static struct allo_retired_block *find_retired(struct allo_live_blocks *blocks, uint64_t pointer,
					       const struct allo_event *event)
{
	uint64_t earliest = blocks->have_names ? 0 : allo_event_earliest(event);

	if (blocks->retired_kept == 0 || *mark_of(blocks, pointer) == 0 || pointer == 0)
		return NULL;
	for (size_t i = 0; i < ALLO_RETIRED_KEPT; i++) {
		struct allo_retired_block *retired = &blocks->retired[i];

		if (retired->block.pointer == pointer && retired->ns >= earliest)
			return retired;
	}
	return NULL;
}

/* Places. */

static bool take_place(struct allo_block_places *places, struct allo_error *err)
{
	if (places->free.len > 0) {
		places->last = places->free.at[--places->free.len];
		return true;
	}
	/* Reserved here, so that freeing the place cannot fail. */
	if (!allo_vec_reserve(&places->free, places->count + 1))
		return allo_fail_memory(err);
	places->last = places->count++;
	ALLO_ASSERT(places->free.cap >= places->count);
	return true;
}

/* Adds a block of a sampled recording to the estimates.  True if that is a new peak. */
static bool weigh_created(struct allo_live_blocks *blocks, uint64_t size, uint64_t ns)
{
	allo_weighed_totals_add(&blocks->weighed, &blocks->weighing, size, ns);
	if (blocks->weighed.bytes <= blocks->weighed_peak_bytes)
		return false;
	blocks->weighed_peak_bytes = blocks->weighed.bytes;
	blocks->weighed_peak_blocks = blocks->weighed.blocks;
	return true;
}

/* Adds a block to the live ones.  True if that is a new peak. */
static bool count_live(struct allo_live_blocks *blocks, uint64_t size, uint64_t ns)
{
	bool is_peak;

	blocks->bytes += size;
	blocks->count++;
	is_peak = allo_is_sampled(&blocks->weighing) ? weigh_created(blocks, size, ns)
						     : blocks->bytes > blocks->peak_bytes;
	if (is_peak) {
		blocks->peak_bytes = blocks->bytes;
		blocks->peak_blocks = blocks->count;
		blocks->peak_ns = ns;
	}
	return is_peak;
}

bool allo_live_blocks_count_made(struct allo_live_blocks *blocks, uint32_t stack, uint64_t size,
				 uint64_t ns)
{
	blocks->made[stack]++;
	blocks->allocations++;
	blocks->total_bytes += size;
	return count_live(blocks, size, ns);
}

/* Blocks that end. */

void allo_live_blocks_count_ended(struct allo_live_blocks *blocks, uint64_t size, uint64_t birth_ns)
{
	ALLO_ASSERT(blocks->count > 0);
	blocks->bytes -= size;
	blocks->count--;
	if (__builtin_expect(allo_is_sampled(&blocks->weighing), 0))
		allo_weighed_totals_end(&blocks->weighed, &blocks->weighing, size, birth_ns);
}

static void end_block(struct allo_live_blocks *blocks, const struct allo_live_block *block,
		      struct allo_outcome *outcome)
{
	outcome->size = block->size;
	outcome->birth_ns = block->birth_ns;
	outcome->stack = block->stack;
	outcome->number = block->number;
	outcome->flags |= ALLO_OUTCOME_ENDED;
	allo_live_blocks_count_ended(blocks, block->size, block->birth_ns);
	if (__builtin_expect(blocks->places.are_wanted, 0)) {
		ALLO_ASSERT(blocks->places.free.len < blocks->places.count);
		blocks->places.free.at[blocks->places.free.len++] = block->number;
	}
}

static void retire(struct allo_live_blocks *blocks, const struct allo_live_block *block,
		   const struct allo_event *event, struct allo_outcome *outcome)
{
	struct allo_retired_block *retired =
		&blocks->retired[blocks->retired_count++ % ALLO_RETIRED_KEPT];

	forget_retired(blocks, retired);
	*retired = (struct allo_retired_block){ *block, event->ns, event->stream };
	++*mark_of(blocks, block->pointer);
	blocks->retired_kept++;
	ALLO_ASSERT(blocks->retired_kept <= ALLO_RETIRED_KEPT);
	outcome->flags = 0;
	end_block(blocks, block, outcome);
}

/* Whether a free or realloc refers to a retired block.  It does not if its thread has allocated the
 * address since, because the events of one thread are in order. */
static bool is_late(struct allo_live_blocks *blocks, const struct allo_live_block *place,
		    uint64_t pointer, const struct allo_event *event, struct allo_outcome *outcome)
{
	struct allo_retired_block *retired = find_retired(blocks, pointer, event);

	if (!retired || (place && retired->stream == event->stream))
		return false;
	*outcome = (struct allo_outcome){ .size = retired->block.size,
					  .birth_ns = retired->block.birth_ns,
					  .stack = retired->block.stack,
					  .number = retired->block.number,
					  .flags = ALLO_OUTCOME_ENDED | ALLO_OUTCOME_LATE };
	forget_retired(blocks, retired);
	blocks->late_frees++;
	return true;
}

/* Events. */

/* The stack of an event; 0 if the recording does not have it. */
static uint32_t stack_of(struct allo_live_blocks *blocks, uint32_t stack)
{
	if (stack < blocks->stack_count)
		return stack;
	blocks->missing_stacks++;
	return 0;
}

/* Counts an allocation; false if the sum of bytes would not fit 64 bits. */
static bool add_total(struct allo_live_blocks *blocks, uint64_t size)
{
	if (__builtin_add_overflow(blocks->total_bytes, size, &blocks->total_bytes)) {
		blocks->total_bytes -= size;
		blocks->overflows++;
		return false;
	}
	blocks->allocations++;
	return true;
}

/* Adds the new block of an event. */
static bool create(struct allo_live_blocks *blocks, const struct allo_event *event, uint32_t stack,
		   uint64_t birth_ns, struct allo_outcome *outcome, struct allo_outcome **retired,
		   struct allo_error *err)
{
	struct allo_live_block *place;
	uint32_t number;

	ALLO_ASSERT(stack < blocks->stack_count && event->stream < blocks->stream_count);
	if (blocks->count >= blocks->table.most && !grow(blocks, err))
		return false;
	place = allo_block_find(&blocks->table, event->pointer);
	if (place) {
		outcome->flags |= ALLO_OUTCOME_RETIRED;
		retire(blocks, place, event, (*retired)++);
	} else {
		struct allo_retired_block *before = find_retired(blocks, event->pointer, event);

		if (before)
			before->stream = event->stream;
		place = allo_block_take(&blocks->table, event->pointer);
	}
	number = allo_block_number_next(blocks, stack);
	if (blocks->places.are_wanted) {
		if (!take_place(&blocks->places, err))
			return false;
		number = blocks->places.last;
	}
	*place = (struct allo_live_block){ event->pointer, event->size, birth_ns, stack, number };
	blocks->last_allocated[event->stream] = allo_block_key(stack, number);
	outcome->new_stack = stack;
	outcome->flags |= ALLO_OUTCOME_CREATED;
	if (count_live(blocks, event->size, event->ns))
		outcome->flags |= ALLO_OUTCOME_PEAK;
	return true;
}

static bool allocate(struct allo_live_blocks *blocks, const struct allo_event *event,
		     struct allo_outcome *outcome, struct allo_outcome **retired,
		     struct allo_error *err)
{
	if (event->pointer == 0 || !add_total(blocks, event->size))
		return true;
	return create(blocks, event, stack_of(blocks, event->stack), event->ns, outcome, retired,
		      err);
}

static void release(struct allo_live_blocks *blocks, const struct allo_event *event,
		    struct allo_outcome *outcome)
{
	struct allo_live_block *place = allo_block_find(&blocks->table, event->pointer);

	blocks->frees++;
	if (is_late(blocks, place, event->pointer, event, outcome))
		return;
	if (!place) {
		blocks->unknown_frees++;
		return;
	}
	/* A sampled recording may lack allocations in between. */
	if (!allo_is_sampled(&blocks->weighing) &&
	    blocks->last_allocated[event->stream] == allo_block_key(place->stack, place->number))
		outcome->flags |= ALLO_OUTCOME_TEMPORARY;
	end_block(blocks, place, outcome);
	allo_block_remove(&blocks->table, place);
}

static bool resize(struct allo_live_blocks *blocks, const struct allo_event *event,
		   struct allo_outcome *outcome, struct allo_outcome **retired,
		   struct allo_error *err)
{
	struct allo_live_block *old = allo_block_find(&blocks->table, event->old);
	uint64_t birth_ns = event->ns;
	uint32_t stack;

	if (event->pointer == 0 || !add_total(blocks, event->size))
		return true;
	stack = stack_of(blocks, event->stack);
	blocks->resizes++;
	if (is_late(blocks, old, event->old, event, outcome)) {
		birth_ns = outcome->birth_ns;
	} else if (old) {
		birth_ns = old->birth_ns;
		end_block(blocks, old, outcome);
		allo_block_remove(&blocks->table, old);
	} else {
		blocks->unknown_frees++;
	}
	/* It is chance whether the old block was sampled, so it must not affect the lifetime. */
	if (allo_is_sampled(&blocks->weighing))
		birth_ns = event->ns;
	if (blocks->keeps_first && outcome->flags & ALLO_OUTCOME_ENDED)
		stack = outcome->stack;
	return create(blocks, event, stack, birth_ns, outcome, retired, err);
}

static void fail_to_resize(struct allo_live_blocks *blocks, const struct allo_event *event,
			   struct allo_outcome *outcome)
{
	const struct allo_live_block *place = allo_block_find(&blocks->table, event->pointer);

	blocks->failed_resizes++;
	if (!place)
		return;
	outcome->stack = place->stack;
	outcome->number = place->number;
	outcome->flags |= ALLO_OUTCOME_ENDED;
}

/* A packed recording says explicitly that a block is retired. */
static void retire_named(struct allo_live_blocks *blocks, const struct allo_event *event,
			 struct allo_outcome *outcome)
{
	struct allo_live_block *place = allo_block_find(&blocks->table, event->pointer);

	if (!place)
		return;
	retire(blocks, place, event, outcome);
	allo_block_remove(&blocks->table, place);
}

void allo_block_renumber(struct allo_live_blocks *blocks, const struct allo_event *event,
			 uint32_t number)
{
	struct allo_live_block *place = allo_block_find(&blocks->table, event->pointer);

	ALLO_ASSERT(place && blocks->next_number && number != 0);
	place->number = number;
	blocks->last_allocated[event->stream] = allo_block_key(place->stack, number);
}

/* Spans. */

/* Computes the homes of events from `from` on.  Homes beyond the end are prefetched too: 0. */
static void find_homes(struct allo_block_steps *steps, size_t from)
{
	const struct allo_block_table table = steps->blocks->table; /* in registers */

	for (size_t i = from; i < steps->count; i++)
		steps->homes[i] = (uint32_t)allo_block_home(&table, steps->events[i].pointer);
	for (size_t i = steps->count; i < steps->count + ALLO_STEPS_AHEAD; i++)
		steps->homes[i] = 0;
}

void allo_block_steps_begin(struct allo_block_steps *steps, struct allo_live_blocks *blocks,
			    const struct allo_event_span *span)
{
	ALLO_ASSERT(span->count <= ALLO_EVENTS_AT_ONCE);
	steps->blocks = blocks;
	steps->events = span->events;
	steps->count = span->count;
	steps->last_allocated = blocks->last_allocated;
	find_homes(steps, 0);
	for (size_t i = 0; i < ALLO_STEPS_AHEAD; i++)
		__builtin_prefetch(&blocks->table.at[2 * (size_t)steps->homes[i]], 1);
	if (span->count > 0 && span->events[span->count - 1].ns > blocks->last_ns)
		blocks->last_ns = span->events[span->count - 1].ns;
}

bool allo_block_step_slowly(struct allo_block_steps *steps, size_t i, struct allo_outcome *outcome,
			    struct allo_outcome **retired, struct allo_error *err)
{
	struct allo_live_blocks *blocks = steps->blocks;
	const struct allo_live_block *table = blocks->table.at;
	const struct allo_event *event = &steps->events[i];
	bool ok = true;

	outcome->flags = 0;
	switch (event->kind) {
	case ALLO_EVENT_ALLOC:
		ok = allocate(blocks, event, outcome, retired, err);
		break;
	case ALLO_EVENT_RESIZE:
		ok = resize(blocks, event, outcome, retired, err);
		break;
	case ALLO_EVENT_FREE:
		release(blocks, event, outcome);
		break;
	case ALLO_EVENT_RESIZE_FAILED:
		fail_to_resize(blocks, event, outcome);
		break;
	case ALLO_EVENT_RETIRE:
		retire_named(blocks, event, outcome);
		break;
	case ALLO_EVENT_LABELS:
		break;
	case ALLO_EVENT_MARK:
		blocks->marks++;
		break;
	case ALLO_EVENT_OWN:
		blocks->own_events++;
		if (__builtin_add_overflow(blocks->own_units, event->size, &blocks->own_units))
			blocks->own_units = UINT64_MAX;
		break;
	}
	if (table != blocks->table.at)
		find_homes(steps, i + 1);
	return ok;
}

/* Life cycle and totals. */

bool allo_live_blocks_init(struct allo_live_blocks *blocks, const struct allo_recording *recording,
			   struct allo_error *err)
{
	*blocks = (struct allo_live_blocks){ .file = recording->name,
					     .input_bytes = recording->source.stored,
					     .nodes = recording->nodes.at,
					     .stack_count = recording->nodes.len,
					     .stream_count = recording->streams.len + 1,
					     .weighing = allo_weighing_of(recording),
					     .watch_ns = allo_resident_of(recording).peak_ns,
					     .watched_bytes = UINT64_MAX,
					     .have_names = recording->is_packed,
					     .table = { .seed = allo_hash_seed() } };
	/* Sums of a bounded recording have no times. */
	if (blocks->watch_ns < allo_recording_exact_ns(recording))
		blocks->watch_ns = UINT64_MAX;
	blocks->made = calloc(blocks->stack_count, sizeof(*blocks->made));
	blocks->last_allocated = calloc(blocks->stream_count, sizeof(*blocks->last_allocated));
	if (!blocks->made || !blocks->last_allocated)
		return allo_fail_memory(err);
	return set_table(&blocks->table, FIRST_PAIRS, err);
}

/* Grows an array and fills it with zeros; false when memory is short. */
static bool grow_table(uint64_t **table, size_t *count, size_t needed)
{
	size_t room = *count > 0 ? *count : 1;
	uint64_t *larger;

	if (needed <= *count)
		return true;
	while (room < needed)
		room *= 2;
	larger = reallocarray(*table, room, sizeof(*larger));
	if (!larger)
		return false;
	memset(larger + *count, 0, (room - *count) * sizeof(*larger));
	*table = larger;
	*count = room;
	return true;
}

bool allo_live_blocks_grow(struct allo_live_blocks *blocks, const struct allo_recording *recording,
			   size_t stream_count, struct allo_error *err)
{
	blocks->nodes = recording->nodes.at;
	blocks->weighing = allo_weighing_of(recording);
	blocks->input_bytes = recording->source.stored;
	return (grow_table(&blocks->made, &blocks->stack_count, recording->nodes.len) &&
		grow_table(&blocks->last_allocated, &blocks->stream_count, stream_count)) ||
	       allo_fail_memory(err);
}

void allo_live_blocks_add_totals(struct allo_live_blocks *blocks,
				 const struct allo_recording *recording)
{
	const struct allo_earlier_totals *totals;

	if (!recording->earlier)
		return;
	totals = &recording->earlier->totals;
	blocks->allocations += totals->allocations;
	blocks->total_bytes += totals->total_bytes;
	blocks->frees += totals->frees;
	blocks->resizes += totals->resizes;
	blocks->failed_resizes += totals->failed_resizes;
	blocks->unknown_frees += totals->unknown_frees;
	blocks->late_frees += totals->late_frees;
	blocks->overflows += totals->overflows;
	blocks->missing_stacks += totals->missing_stacks;
	blocks->own_events += totals->own_events;
	blocks->own_units += totals->own_units;
	blocks->peak_bytes = totals->peak_bytes;
	blocks->peak_blocks = totals->peak_blocks;
	blocks->peak_ns = recording->earlier->peak_ns;
}

void allo_live_blocks_add_made(struct allo_live_blocks *blocks,
			       const struct allo_recording *recording)
{
	const struct allo_earlier *earlier = recording->earlier;

	for (size_t i = 0; earlier && i < earlier->sites.len; i++) {
		uint64_t stack = earlier->sites.at[i].stack;

		blocks->made[stack < blocks->stack_count ? stack : 0] +=
			earlier->sites.at[i].blocks;
	}
}

void allo_live_blocks_done(struct allo_live_blocks *blocks)
{
	free(blocks->table.at);
	free(blocks->table.passed);
	free(blocks->made);
	free(blocks->last_allocated);
	allo_vec_done(&blocks->places.free);
	*blocks = (struct allo_live_blocks){ 0 };
}

bool allo_live_blocks_apply(struct allo_live_blocks *blocks, const struct allo_event_span *span,
			    struct allo_outcomes *outcomes, struct allo_error *err)
{
	struct allo_outcome *retired = outcomes->retired;
	bool are_plain = allo_blocks_are_plain(blocks);
	struct allo_block_steps steps;

	allo_block_steps_begin(&steps, blocks, span);
	for (size_t i = 0; i < span->count; i++) {
		struct allo_outcome *outcome = &outcomes->at[i];

		if (are_plain && (allo_block_step_alloc(&steps, i, outcome) ||
				  allo_block_step_free(&steps, i, outcome)))
			continue;
		if (!allo_block_step_slowly(&steps, i, outcome, &retired, err))
			return false;
		outcomes->place[i] = blocks->places.last;
	}
	ALLO_ASSERT(retired <= outcomes->retired + span->count);
	return true;
}

struct allo_block_totals allo_live_blocks_totals(const struct allo_live_blocks *blocks)
{
	const struct allo_weighed_totals *weighed = &blocks->weighed;

	if (!allo_is_sampled(&blocks->weighing))
		return (struct allo_block_totals){ blocks->allocations, blocks->total_bytes,
						   blocks->frees,       blocks->bytes,
						   blocks->count,       blocks->peak_bytes,
						   blocks->peak_blocks };
	return (struct allo_block_totals){
		.allocations = allo_parts_round(weighed->allocations),
		.total_bytes = allo_parts_round(weighed->total_bytes),
		.frees = allo_parts_round(weighed->ended),
		.bytes = allo_parts_round(weighed->bytes),
		.blocks = allo_parts_round(weighed->blocks),
		.peak_bytes = allo_parts_round(blocks->weighed_peak_bytes),
		.peak_blocks = allo_parts_round(blocks->weighed_peak_blocks),
	};
}

void allo_live_blocks_cut_here(struct allo_live_blocks *blocks, struct allo_event_span *part)
{
	size_t before = 0;

	while (before < part->count && part->events[before].ns < blocks->watch_ns)
		before++;
	if (before > 0) {
		part->count = before;
		return;
	}
	blocks->watched_bytes = allo_live_blocks_totals(blocks).bytes;
	blocks->watch_ns = UINT64_MAX;
}

uint64_t allo_live_blocks_watched(const struct allo_live_blocks *blocks)
{
	if (blocks->watched_bytes != UINT64_MAX)
		return blocks->watched_bytes;
	if (blocks->watch_ns != UINT64_MAX)
		return allo_live_blocks_totals(blocks).bytes;
	return allo_live_blocks_totals(blocks).peak_bytes;
}

void allo_live_blocks_restart(struct allo_live_blocks *blocks, uint64_t ns)
{
	/* No stack has given out more numbers than there were allocations. */
	blocks->numbered_before += blocks->allocations;
	blocks->allocations = blocks->resizes = blocks->frees = blocks->failed_resizes = 0;
	blocks->unknown_frees = blocks->late_frees = blocks->overflows = 0;
	blocks->missing_stacks = 0;
	blocks->marks = blocks->own_events = blocks->own_units = 0;
	blocks->total_bytes = 0;
	blocks->peak_bytes = blocks->bytes;
	blocks->peak_blocks = blocks->count;
	blocks->peak_ns = ns;
	blocks->weighed = (struct allo_weighed_totals){ .bytes = blocks->weighed.bytes,
							.blocks = blocks->weighed.blocks };
	blocks->weighed_peak_bytes = blocks->weighed.bytes;
	blocks->weighed_peak_blocks = blocks->weighed.blocks;
	memset(blocks->made, 0, blocks->stack_count * sizeof(*blocks->made));
}

void allo_live_blocks_end_stack(struct allo_live_blocks *blocks, uint32_t stack, uint64_t made)
{
	unsigned flags = blocks->nodes[stack].flags;

	ALLO_ASSERT(made <= blocks->allocations);
	if (stack == 0 || flags & ALLO_NODE_PARTIAL)
		blocks->partial_stacks += made;
	if (stack != 0 && !(flags & ALLO_NODE_KNOWN))
		blocks->missing_stacks += made;
}

void allo_live_blocks_end(struct allo_live_blocks *blocks)
{
	/* There may be room for more stacks than there are nodes. */
	for (size_t i = 0; i < blocks->stack_count; i++) {
		if (blocks->made[i] > 0)
			allo_live_blocks_end_stack(blocks, (uint32_t)i, blocks->made[i]);
	}
}
