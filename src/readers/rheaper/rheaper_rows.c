/* rheaper_rows.c - replays all events and reports each block when it ends. */
#include "readers/rheaper/rheaper_rows.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/error.h"
#include "base/hash.h"
#include "readers/rheaper/rheaper_events.h"
#include "replay/live_blocks.h"

#include <stddef.h>
#include <stdlib.h>

struct owner {
	uint64_t address; /* 0: the slot is free */
	uint32_t thread;
};

/* The allocating thread of each live block, by address, which live_blocks.h does not keep.  A hash
 * table with open addressing.  All zeros is empty, and ready for use. */
struct owners {
	struct owner *at;
	uint64_t seed;
	size_t places, count;
	unsigned shift;
};

enum { FIRST_PLACES = 1 << 10 };

static void owners_done(struct owners *threads)
{
	free(threads->at);
	*threads = (struct owners){ 0 };
}

static inline size_t home_of(const struct owners *threads, uint64_t address)
{
	return (size_t)(allo_hash_pair(address, 0, threads->seed) >> threads->shift);
}

/* The slot of an address, or the free slot where it would be. */
static inline struct owner *find(const struct owners *threads, uint64_t address)
{
	size_t at = home_of(threads, address);

	while (threads->at[at].address != address && threads->at[at].address != 0)
		at = (at + 1) & (threads->places - 1);
	return &threads->at[at];
}

static bool grow(struct owners *threads, struct allo_error *err)
{
	struct owners larger = {
		.seed = allo_hash_seed(),
		.places = threads->places ? threads->places * 2 : FIRST_PLACES,
		.count = threads->count,
	};

	larger.at = calloc(larger.places, sizeof(*larger.at));
	if (!larger.at)
		return allo_fail_memory(err);
	larger.shift = 64 - (unsigned)__builtin_ctzll(larger.places);
	for (size_t i = 0; i < threads->places; i++) {
		if (threads->at[i].address != 0)
			*find(&larger, threads->at[i].address) = threads->at[i];
	}
	free(threads->at);
	*threads = larger;
	return true;
}

/* Adds an address that is not 0 and not in the table; false when memory is short. */
static bool owners_put(struct owners *threads, uint64_t address, uint32_t thread,
		       struct allo_error *err)
{
	/* At most five eighths full. */
	if (threads->count >= threads->places / 8 * 5 && !grow(threads, err))
		return false;
	ALLO_ASSERT(address != 0 && find(threads, address)->address == 0);
	*find(threads, address) = (struct owner){ address, thread };
	threads->count++;
	return true;
}

/* Moves later entries into a freed slot, so that a free slot always ends a search. */
static void close_up(struct owners *threads, size_t hole)
{
	size_t mask = threads->places - 1, at = hole;

	for (;;) {
		at = (at + 1) & mask;
		if (threads->at[at].address == 0)
			break;
		/* An entry may move only if its home is not between the hole and its slot. */
		if (((at - home_of(threads, threads->at[at].address)) & mask) >=
		    ((at - hole) & mask)) {
			threads->at[hole] = threads->at[at];
			hole = at;
		}
	}
	threads->at[hole].address = 0;
}

/* Removes an address; returns its thread, 0 if it was not in the table. */
static uint32_t owners_take(struct owners *threads, uint64_t address)
{
	struct owner *holder;
	uint32_t thread;

	if (threads->places == 0)
		return 0;
	holder = find(threads, address);
	if (holder->address == 0)
		return 0;
	thread = holder->thread;
	close_up(threads, (size_t)(holder - threads->at));
	threads->count--;
	return thread;
}

enum { ROWS_AT_ONCE = 512 };

struct builder {
	const allo_stack_id *sites; /* the profile's stacks, by site */
	allo_rheaper_take *take;
	void *context;
	struct allo_rheaper_events events;
	struct allo_live_blocks blocks;
	struct allo_outcomes outcomes;
	struct owners threads;
	struct allo_notes notes; /* dropped: the profile has them already */
	struct allo_allocation rows[ROWS_AT_ONCE];
	size_t count;
};

static void builder_free(struct builder **builder)
{
	if (*builder) {
		allo_live_blocks_done(&(*builder)->blocks);
		allo_rheaper_events_close(&(*builder)->events);
		owners_done(&(*builder)->threads);
	}
	free(*builder);
}

static bool hand_on(struct builder *builder, struct allo_error *err)
{
	size_t count = builder->count;

	builder->count = 0;
	return count == 0 || builder->take(builder->context, builder->rows, count, err);
}

/* Adds a block that has ended or is still live; `site` is the stack of its event. */
static bool add_row(struct builder *builder, struct allo_allocation row, uint32_t site,
		    struct allo_error *err)
{
	row.stack = row.first_stack = builder->sites[site];
	row.first_ns = row.alloc_ns;
	row.alloc_thread = owners_take(&builder->threads, row.address);
	ALLO_ASSERT(builder->count < ROWS_AT_ONCE && row.alloc_ns <= row.free_ns);
	builder->rows[builder->count++] = row;
	return builder->count < ROWS_AT_ONCE || hand_on(builder, err);
}

static bool add_ended(struct builder *builder, const struct allo_event *event,
		      const struct allo_outcome *ended, allo_thread_id freer,
		      struct allo_error *err)
{
	struct allo_allocation row = {
		.alloc_ns = ended->birth_ns,
		.free_ns = event->ns,
		.size = ended->size,
		.address = event->pointer,
		.free_thread = freer,
		.is_temporary = ended->flags & ALLO_OUTCOME_TEMPORARY,
	};

	return add_row(builder, row, ended->stack, err);
}

static bool add_outcomes(struct builder *builder, const struct allo_event_span *span,
			 struct allo_error *err)
{
	const struct allo_outcome *retired = builder->outcomes.retired;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &builder->outcomes.at[i];
		allo_thread_id thread = event->stream + 1u;

		if (allo_outcome_ends_block(outcome, event) &&
		    !add_ended(builder, event, outcome, thread, err))
			return false;
		/* The freeing thread is unknown. */
		if (outcome->flags & ALLO_OUTCOME_RETIRED &&
		    !add_ended(builder, event, retired++, 0, err))
			return false;
		if (outcome->flags & ALLO_OUTCOME_CREATED &&
		    !owners_put(&builder->threads, event->pointer, thread, err))
			return false;
	}
	return true;
}

static int compare_blocks(const void *left, const void *right)
{
	const struct allo_live_block *a = left, *b = right;

	if (a->birth_ns != b->birth_ns)
		return a->birth_ns < b->birth_ns ? -1 : 1;
	return a->pointer < b->pointer ? -1 : a->pointer > b->pointer;
}

/* Adds the blocks that are live at the end. */
static bool add_live(struct builder *builder, struct allo_error *err)
{
	struct allo_block_table *table = &builder->blocks.table;
	size_t count = 0;

	/* No lookups follow: compact the table in place. */
	for (size_t i = 0; i < allo_block_places(table); i++) {
		if (table->at[i].pointer != 0)
			table->at[count++] = table->at[i];
	}
	qsort(table->at, count, sizeof(*table->at), compare_blocks);
	for (size_t i = 0; i < count; i++) {
		struct allo_allocation row = { .alloc_ns = table->at[i].birth_ns,
					       .free_ns = ALLO_NEVER_FREED,
					       .address = table->at[i].pointer,
					       .size = table->at[i].size };

		if (!add_row(builder, row, table->at[i].stack, err))
			return false;
	}
	return hand_on(builder, err);
}

static bool add_all(struct builder *builder, struct allo_error *err)
{
	struct allo_event_span span;

	while (allo_rheaper_events_next(&builder->events, &span, err)) {
		if (!allo_live_blocks_apply(&builder->blocks, &span, &builder->outcomes, err) ||
		    !add_outcomes(builder, &span, err))
			return false;
	}
	return !allo_failed(err) && add_live(builder, err);
}

bool allo_rheaper_rows(struct allo_rheaper_files *files, const struct allo_rheaper_stacks *stacks,
		       allo_rheaper_take *take, void *context, struct allo_error *err)
{
	ALLO_DEFER(builder_free) struct builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return allo_fail_memory(err);
	builder->sites = stacks->sites.at;
	builder->take = take;
	builder->context = context;
	return allo_rheaper_events_open(&builder->events, files, stacks, &builder->notes, err) &&
	       allo_live_blocks_init(&builder->blocks, &builder->events.shape, err) &&
	       add_all(builder, err);
}
