/*
 * facts.c - majorities, curves, chains of reallocs, and the observer that fills them event by
 * event.
 */
#include "findings/facts.h"

#include "base/assert.h"

#include <stdlib.h>

/* Majorities. */

static void vote(struct allo_majority *majority, uint64_t value, bool is_same)
{
	if (majority->votes == 0) {
		*majority = (struct allo_majority){ value, 1, 1 };
	} else if (is_same) {
		majority->votes++;
		majority->count++;
	} else {
		majority->votes--;
	}
}

static bool is_within_tenth(uint64_t a, uint64_t b)
{
	uint64_t difference = a > b ? a - b : b - a;

	return difference <= (a > b ? a : b) / 10;
}

static void majority_add(struct allo_majority *to, const struct allo_majority *more)
{
	if (to->value == more->value) {
		to->votes += more->votes;
		to->count += more->count;
	} else if (to->votes >= more->votes) {
		to->votes -= more->votes;
	} else {
		*to = (struct allo_majority){ more->value, more->votes - to->votes, more->count };
	}
}

/* Curves. */

enum { STEP_FIRST_NS = 1024, CURVE_LEAST_BYTES = 4096, CURVE_LEAST_PART = 1024 };

static void fold_curves(struct allo_facts *facts)
{
	for (size_t i = 0; i < facts->curves.len; i++)
		allo_curve_fold(&facts->curves.at[i]);
	facts->step_ns *= 2;
	facts->step /= 2;
}

/* Moves to the step of a time; threads' clocks may differ, so it never goes back. */
static __attribute__((noinline)) void advance(struct allo_facts *facts, uint64_t ns)
{
	if (facts->step_ns == 0)
		facts->step_ns = STEP_FIRST_NS;
	while (ns / facts->step_ns >= ALLO_CURVE_STEPS)
		fold_curves(facts);
	facts->step = ns / facts->step_ns;
	facts->old_ns = facts->step * facts->step_ns / 10;
	facts->epoch++;
	ALLO_ASSERT(facts->step < ALLO_CURVE_STEPS);
	if (__builtin_mul_overflow(facts->step + 1, facts->step_ns, &facts->step_end_ns))
		facts->step_end_ns = UINT64_MAX;
}

static bool wants_curve(const struct allo_facts *facts, const struct allo_site_facts *site)
{
	return !facts->are_full && site->live_bytes >= CURVE_LEAST_BYTES &&
	       site->live_bytes >= facts->peak_bytes / CURVE_LEAST_PART;
}

static __attribute__((noinline)) bool add_curve(struct allo_facts *facts,
						struct allo_site_facts *site,
						struct allo_error *err)
{
	struct allo_curve *curve;

	if (facts->curves.len == ALLO_CURVES_MOST) {
		facts->are_full = true;
		return true;
	}
	curve = allo_vec_push(&facts->curves);
	if (!curve)
		return allo_fail_memory(err);
	*curve = (struct allo_curve){ 0 };
	allo_curve_fill(curve, (size_t)facts->step, 0);
	site->curve = (uint32_t)facts->curves.len;
	site->epoch = facts->epoch;
	return true;
}

/* Fills the curve up to the current step.  Call it before the live bytes change. */
static inline void fill_curve(struct allo_facts *facts, struct allo_site_facts *site)
{
	ALLO_ASSERT(site->curve <= facts->curves.len);
	if (site->epoch == facts->epoch || site->curve == 0)
		return;
	allo_curve_fill(&facts->curves.at[site->curve - 1], (size_t)facts->step, site->live_bytes);
	site->epoch = facts->epoch;
}

/* Sites. */

static __attribute__((noinline)) bool cover_sites(struct allo_facts *facts,
						  const struct allo_heap *heap,
						  struct allo_error *err)
{
	return allo_vec_cover(&facts->sites, heap->blocks.stack_count) || allo_fail_memory(err);
}

static struct allo_growth_facts *growth_of(struct allo_facts *facts, struct allo_site_facts *site,
					   struct allo_error *err)
{
	struct allo_growth_facts *growth;

	ALLO_ASSERT(site->growth <= facts->growths.len);
	if (site->growth > 0)
		return &facts->growths.at[site->growth - 1];
	growth = allo_vec_push(&facts->growths);
	if (!growth) {
		allo_fail_memory(err);
		return NULL;
	}
	*growth = (struct allo_growth_facts){ 0 };
	site->growth = (uint32_t)facts->growths.len;
	return growth;
}

static void end_chain(struct allo_growth_facts *growth, uint32_t steps, uint64_t size)
{
	if (steps < ALLO_SHORT_CHAIN)
		return;
	growth->short_chains++;
	growth->long_chains += steps >= ALLO_LONG_CHAIN;
	vote(&growth->last_size, size, size == growth->last_size.value);
}

/* Counts a realloc that made a block larger. */
static bool take_growth(struct allo_facts *facts, struct allo_site_facts *site,
			const struct allo_event *event, uint64_t old_size, struct allo_error *err)
{
	struct allo_growth_facts *growth = growth_of(facts, site, err);
	uint32_t steps = allo_chains_take(&facts->chains, event->old) + 1;
	uint64_t step_bytes;

	if (!growth)
		return false;
	if (event->size > old_size) {
		step_bytes = event->size - old_size;
		growth->steps++;
		growth->copied_bytes += old_size;
		growth->small_steps += step_bytes < old_size / 4;
		growth->longest = steps > growth->longest ? steps : growth->longest;
		vote(&growth->step_bytes, step_bytes,
		     is_within_tenth(step_bytes, growth->step_bytes.value));
	}
	return allo_chains_put(&facts->chains, event->pointer, steps) || allo_fail_memory(err);
}

static inline void note_age(struct allo_facts *facts, const struct allo_site_facts *site,
			    const struct allo_outcome *ended)
{
	if (site->curve > 0 && ended->birth_ns < facts->old_ns)
		facts->curves.at[site->curve - 1].old_freed[facts->step] += ended->size;
}

/* Whether another thread frees a block than the one that allocated it. */
static inline bool is_crossing(const struct allo_heap *heap, const struct allo_event *event,
			       const struct allo_outcome *ended)
{
	return heap->ids && heap->ids->by_thread &&
	       heap->ids->keys.at.at[ended->stack].stream != event->stream;
}

/* Counts the end of a block; `is_freed` unless a realloc goes on with it. */
static inline void take_ended(struct allo_facts *facts, const struct allo_heap *heap,
			      const struct allo_event *event, const struct allo_outcome *ended,
			      bool is_freed)
{
	struct allo_site_facts *site = &facts->sites.at[ended->stack];

	ALLO_ASSERT(ended->stack < facts->sites.len && site->live_bytes >= ended->size);
	fill_curve(facts, site);
	site->live_bytes -= ended->size;
	if (!is_freed)
		return;
	site->freed_blocks++;
	site->reusable_blocks += ended->number == (uint32_t)site->blocks;
	site->crossed_blocks += is_crossing(heap, event, ended);
	note_age(facts, site, ended);
	if (site->growth > 0)
		end_chain(&facts->growths.at[site->growth - 1],
			  allo_chains_take(&facts->chains, event->pointer), ended->size);
}

static inline bool take_created(struct allo_facts *facts, const struct allo_heap *heap,
				const struct allo_event *event, uint32_t stack,
				struct allo_error *err)
{
	struct allo_site_facts *site = &facts->sites.at[stack];
	uint64_t size = event->size;

	ALLO_ASSERT(stack < facts->sites.len);
	fill_curve(facts, site);
	if (site->blocks == 0) {
		site->node = allo_heap_stack(heap, stack);
		site->least_size = size;
	}
	site->blocks++;
	site->bytes += size;
	site->live_bytes += size;
	vote(&site->size, size, size == site->size.value);
	site->least_size = size < site->least_size ? size : site->least_size;
	site->most_size = size > site->most_size ? size : site->most_size;
	site->empty_blocks += size == 0;
	if (size < ALLO_COUNTED_SIZES)
		facts->sizes[size]++;
	return site->curve > 0 || !wants_curve(facts, site) || add_curve(facts, site, err);
}

static inline bool take_event(struct allo_facts *facts, const struct allo_heap *heap,
			      const struct allo_event *event, const struct allo_outcome *outcome,
			      const struct allo_outcome *retired, struct allo_error *err)
{
	bool is_resize = event->kind == ALLO_EVENT_RESIZE;
	bool ends = allo_outcome_ends_block(outcome, event);

	if (__builtin_expect(event->ns >= facts->step_end_ns, 0))
		advance(facts, event->ns);
	if (ends)
		take_ended(facts, heap, event, outcome, !is_resize);
	if (outcome->flags & ALLO_OUTCOME_RETIRED)
		take_ended(facts, heap, event, retired, true);
	if (!(outcome->flags & ALLO_OUTCOME_CREATED))
		return true;
	return take_created(facts, heap, event, outcome->new_stack, err) &&
	       (!is_resize || !ends ||
		take_growth(facts, &facts->sites.at[outcome->new_stack], event, outcome->size,
			    err));
}

/* Parts of the run. */

static void note_times(struct allo_event_times *times, const struct allo_event_span *span)
{
	times->step = times->step ? times->step : 1;
	while (times->count * times->step < times->events + span->count) {
		if (times->count == ALLO_EVENT_TIMES) {
			for (size_t i = 0; i < ALLO_EVENT_TIMES / 2; i++)
				times->ns[i] = times->ns[2 * i];
			times->count /= 2;
			times->step *= 2;
			continue;
		}
		times->ns[times->count] =
			span->events[times->count * times->step - times->events].ns;
		times->count++;
	}
	times->events += span->count;
}

/*
 * The time at which a quarter of the run ends.  The run ends with its last event: a server that is
 * idle at the end still leaks.  Quarters of a short run have the same number of events each: if the
 * kernel gives the processor to others for some milliseconds, that is much of its time.
 */
enum { SHORT_RUN_NS = 1000000000 };

static uint64_t quarter_ns(const struct allo_event_times *times, uint64_t last_ns, unsigned quarter)
{
	if (last_ns >= SHORT_RUN_NS || times->count == 0)
		return last_ns / 4 * quarter;
	return times->ns[times->count * quarter / 4];
}

/* Events. */

/* Programs with many stacks miss the cache at each event, so sites are prefetched. */
enum { EVENTS_AHEAD = 8 };

static inline void fetch_site(const struct allo_facts *facts, const struct allo_outcome *outcome)
{
	uint32_t site = outcome->flags & ALLO_OUTCOME_CREATED ? outcome->new_stack
			: outcome->flags & ALLO_OUTCOME_ENDED ? outcome->stack
							      : 0;

	__builtin_prefetch(&facts->sites.at[site], 1);
	__builtin_prefetch(&facts->sites.at[site].size, 1);
}

static bool take_span(void *context, const struct allo_heap *heap,
		      const struct allo_event_span *span, const struct allo_outcomes *outcomes,
		      struct allo_error *err)
{
	struct allo_facts *facts = context;
	const struct allo_outcome *retired = outcomes->retired;

	if (facts->sites.len < heap->blocks.stack_count && !cover_sites(facts, heap, err))
		return false;
	facts->peak_bytes = heap->blocks.peak_bytes;
	note_times(&facts->times, span);
	facts->chains.seed = facts->chains.seed ? facts->chains.seed : heap->blocks.table.seed;
	for (size_t i = 0; i < span->count; i++) {
		if (i + EVENTS_AHEAD < span->count)
			fetch_site(facts, &outcomes->at[i + EVENTS_AHEAD]);
		if (!take_event(facts, heap, &span->events[i], &outcomes->at[i], retired, err))
			return false;
		retired += (outcomes->at[i].flags & ALLO_OUTCOME_RETIRED) != 0;
	}
	return true;
}

static void end_live_blocks(struct allo_facts *facts, const struct allo_heap *heap)
{
	const struct allo_block_table *table = &heap->blocks.table;
	uint64_t first_ns = quarter_ns(&facts->times, heap->blocks.last_ns, 1);
	uint64_t third_ns = quarter_ns(&facts->times, heap->blocks.last_ns, 3);

	for (size_t i = 0; i < allo_block_places(table); i++) {
		const struct allo_live_block *block = &table->at[i];

		if (block->pointer == 0)
			continue;
		facts->sites.at[block->stack].late_blocks += block->birth_ns > third_ns;
		facts->sites.at[block->stack].middle_blocks += block->birth_ns > first_ns &&
							       block->birth_ns <= third_ns;
	}
}

/* Chains of blocks that are live at the end count, too. */
static void end_live_chains(struct allo_facts *facts, const struct allo_heap *heap)
{
	const struct allo_block_table *table = &heap->blocks.table;

	for (size_t i = 0; i < allo_block_places(table) && facts->chains.count > 0; i++) {
		const struct allo_live_block *block = &table->at[i];
		const struct allo_site_facts *site = &facts->sites.at[block->stack];

		if (block->pointer != 0 && site->growth > 0)
			end_chain(&facts->growths.at[site->growth - 1],
				  allo_chains_take(&facts->chains, block->pointer), block->size);
	}
}

static bool end(void *context, const struct allo_heap *heap, uint64_t end_ns,
		struct allo_error *err)
{
	struct allo_facts *facts = context;

	if (!cover_sites(facts, heap, err))
		return false;
	if (end_ns >= facts->step_end_ns)
		advance(facts, end_ns);
	end_live_chains(facts, heap);
	end_live_blocks(facts, heap);
	facts->steps = facts->step + 1;
	for (size_t i = 0; i < facts->sites.len; i++) {
		const struct allo_site_facts *site = &facts->sites.at[i];

		if (site->curve > 0)
			allo_curve_fill(&facts->curves.at[site->curve - 1], (size_t)facts->steps,
					site->live_bytes);
	}
	allo_chains_done(&facts->chains);
	return true;
}

struct allo_heap_observer allo_facts_observer(struct allo_facts *facts)
{
	return (struct allo_heap_observer){ .take = take_span, .end = end, .context = facts };
}

void allo_facts_done(struct allo_facts *facts)
{
	allo_vec_done(&facts->sites);
	allo_vec_done(&facts->curves);
	allo_vec_done(&facts->growths);
	allo_chains_done(&facts->chains);
}

void allo_site_facts_add(struct allo_site_facts *to, const struct allo_site_facts *more)
{
	if (more->blocks == 0)
		return;
	if (to->blocks == 0 || more->least_size < to->least_size)
		to->least_size = more->least_size;
	if (more->most_size > to->most_size)
		to->most_size = more->most_size;
	majority_add(&to->size, &more->size);
	to->blocks += more->blocks;
	to->bytes += more->bytes;
	to->live_bytes += more->live_bytes;
	to->empty_blocks += more->empty_blocks;
	to->freed_blocks += more->freed_blocks;
	to->crossed_blocks += more->crossed_blocks;
	to->reusable_blocks += more->reusable_blocks;
	to->middle_blocks += more->middle_blocks;
	to->late_blocks += more->late_blocks;
}

void allo_growth_facts_add(struct allo_growth_facts *to, const struct allo_growth_facts *more)
{
	to->steps += more->steps;
	to->copied_bytes += more->copied_bytes;
	to->small_steps += more->small_steps;
	to->longest = more->longest > to->longest ? more->longest : to->longest;
	to->short_chains += more->short_chains;
	to->long_chains += more->long_chains;
	majority_add(&to->step_bytes, &more->step_bytes);
	majority_add(&to->last_size, &more->last_size);
}
