/* rheaper_rows.c - see rheaper_rows.h. */
#include "readers/rheaper_rows.h"

#include "base/defer.h"
#include "readers/rheaper_replay.h"
#include "readers/rheaper_threads.h"
#include "replay/live_blocks.h"

#include <stdlib.h>

enum { ROWS_AT_ONCE = 512 };

struct making {
	const allo_stack_id *sites; /* the profile's stacks of those that events have */
	allo_rheaper_take *take;
	void *context;
	struct allo_rheaper_replay replay;
	struct allo_live_blocks blocks;
	struct allo_outcomes outcomes;
	struct allo_rheaper_threads threads;
	struct allo_notes notes; /* which have been taken before */
	struct allo_rheaper_row rows[ROWS_AT_ONCE];
	size_t count;
};

static void making_free(struct making **making)
{
	if (*making) {
		allo_live_blocks_done(&(*making)->blocks);
		allo_rheaper_replay_close(&(*making)->replay);
		allo_rheaper_threads_done(&(*making)->threads);
	}
	free(*making);
}

static bool hand_on(struct making *making, struct allo_error *err)
{
	size_t count = making->count;

	making->count = 0;
	return count == 0 || making->take(making->context, making->rows, count, err);
}

/* A block that has ended, or is live to the end; `site` is its stack as events have it. */
static bool add_row(struct making *making, struct allo_rheaper_row row, uint32_t site,
		    struct allo_error *err)
{
	row.stack = making->sites[site];
	row.alloc_thread = allo_rheaper_threads_take(&making->threads, row.address);
	making->rows[making->count++] = row;
	return making->count < ROWS_AT_ONCE || hand_on(making, err);
}

static bool add_ended(struct making *making, const struct allo_event *event,
		      const struct allo_outcome *ended, allo_thread_id freer,
		      struct allo_error *err)
{
	struct allo_rheaper_row row = {
		.alloc_ns = ended->birth_ns,
		.free_ns = event->ns,
		.size = ended->size,
		.address = event->pointer,
		.free_thread = freer,
		.is_temporary = ended->flags & ALLO_OUTCOME_TEMPORARY,
	};

	return add_row(making, row, ended->stack, err);
}

static bool add_outcomes(struct making *making, const struct allo_event_span *span,
			 struct allo_error *err)
{
	const struct allo_outcome *retired = making->outcomes.retired;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &making->outcomes.at[i];
		allo_thread_id thread = event->stream + 1u;

		if (allo_outcome_ends_block(outcome, event) &&
		    !add_ended(making, event, outcome, thread, err))
			return false;
		/* Who has freed it is not known. */
		if (outcome->flags & ALLO_OUTCOME_RETIRED &&
		    !add_ended(making, event, retired++, 0, err))
			return false;
		if (outcome->flags & ALLO_OUTCOME_CREATED &&
		    !allo_rheaper_threads_put(&making->threads, event->pointer, thread, err))
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

/* Those that are live at the end. */
static bool add_live(struct making *making, struct allo_error *err)
{
	struct allo_block_table *table = &making->blocks.table;
	size_t count = 0;

	/* Nobody looks for anything in it any more. */
	for (size_t i = 0; i < allo_block_places(table); i++) {
		if (table->at[i].pointer != 0)
			table->at[count++] = table->at[i];
	}
	qsort(table->at, count, sizeof(*table->at), compare_blocks);
	for (size_t i = 0; i < count; i++) {
		struct allo_rheaper_row row = { .alloc_ns = table->at[i].birth_ns,
						.free_ns = ALLO_RHEAPER_NEVER,
						.address = table->at[i].pointer,
						.size = table->at[i].size };

		if (!add_row(making, row, table->at[i].stack, err))
			return false;
	}
	return hand_on(making, err);
}

static bool add_all(struct making *making, struct allo_error *err)
{
	struct allo_event_span span;

	while (allo_rheaper_replay_next(&making->replay, &span, err)) {
		if (!allo_live_blocks_apply(&making->blocks, &span, &making->outcomes, err) ||
		    !add_outcomes(making, &span, err))
			return false;
	}
	return !allo_failed(err) && add_live(making, err);
}

bool allo_rheaper_rows(struct allo_rheaper_files *files, const struct allo_rheaper_stacks *stacks,
		       allo_rheaper_take *take, void *context, struct allo_error *err)
{
	ALLO_DEFER(making_free) struct making *making = calloc(1, sizeof(*making));

	if (!making)
		return allo_fail_memory(err);
	making->sites = stacks->sites.at;
	making->take = take;
	making->context = context;
	return allo_rheaper_replay_open(&making->replay, files, stacks, &making->notes, err) &&
	       allo_live_blocks_init(&making->blocks, &making->replay.shape, err) &&
	       add_all(making, err);
}
