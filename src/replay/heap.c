/* heap.c - counts the outcomes of events per site. */
#include "replay/heap.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/block_step.h"
#include "replay/ring/earlier.h"

#include <stdlib.h>

enum { SITES_AHEAD = ALLO_STEPS_AHEAD / 2 };

static inline void save_peak(const struct allo_heap *heap, struct allo_site *site)
{
	if (ALLO_PEAK_SAVE(site, heap->peaks)) {
		site->kept_bytes = site->live_bytes;
		site->kept_blocks = site->live_blocks;
	}
}

static inline void add_lifetime(struct allo_heap *heap, struct allo_site *site, uint64_t birth_ns,
				uint64_t ns)
{
	uint64_t lifetime = ns > birth_ns ? ns - birth_ns : 0;

	if (birth_ns < heap->from_ns)
		return;
	if (__builtin_add_overflow(site->lifetime_ns, lifetime, &site->lifetime_ns)) {
		site->lifetime_ns = UINT64_MAX;
		heap->has_long_lifetimes = true;
	}
}

/* Counts a block that ends.  One that realloc resizes lives on: its lifetime goes on. */
static inline void count_ended(struct allo_heap *heap, const struct allo_outcome *ended,
			       bool lives_on, uint64_t ns)
{
	struct allo_site *site = &heap->sites[ended->stack];

	ALLO_ASSERT(ended->stack < heap->blocks.stack_count);
	ALLO_ASSERT(site->live_blocks > 0);
	save_peak(heap, site);
	site->live_bytes -= ended->size;
	site->live_blocks--;
	site->temporary_blocks += (ended->flags & ALLO_OUTCOME_TEMPORARY) != 0;
	if (!lives_on)
		add_lifetime(heap, site, ended->birth_ns, ns);
}

/* The 32-bit number of peaks has wrapped to 0: start again at 1. */
static __attribute__((noinline)) void renumber_peaks(struct allo_heap *heap)
{
	for (size_t i = 0; i < heap->blocks.stack_count; i++)
		heap->sites[i].of_peak = 0;
	for (size_t i = 0; i < heap->blocks.stack_count && heap->weighed; i++)
		heap->weighed[i].of_peak = 0;
	heap->peaks = 1;
}

static inline void count_created(struct allo_heap *heap, const struct allo_outcome *outcome,
				 uint64_t size)
{
	struct allo_site *site = &heap->sites[outcome->new_stack];
	bool is_more; /* unpredictable, so it must not be a branch */

	ALLO_ASSERT(outcome->new_stack < heap->blocks.stack_count);
	save_peak(heap, site);
	site->alloc_bytes += size;
	site->live_bytes += size;
	site->live_blocks++;
	is_more = (site->live_bytes > site->max_bytes) |
		  ((site->live_bytes == site->max_bytes) & (site->live_blocks > site->max_blocks));
	site->max_bytes = is_more ? site->live_bytes : site->max_bytes;
	site->max_blocks = is_more ? site->live_blocks : site->max_blocks;
	if (outcome->flags & ALLO_OUTCOME_PEAK && ++heap->peaks == 0)
		renumber_peaks(heap);
}

static bool make_weighed(struct allo_heap *heap, size_t before, size_t count,
			 struct allo_error *err)
{
	struct allo_weighed_site *weighed = calloc(count, sizeof(*weighed));

	if (!weighed)
		return allo_fail_memory(err);
	if (before > 0)
		memcpy(weighed, heap->weighed, before * sizeof(*weighed));
	free(heap->weighed);
	heap->weighed = weighed;
	return true;
}

/* Makes room for `count` sites; `before` exist. */
static bool make_sites(struct allo_heap *heap, size_t before, size_t count, struct allo_error *err)
{
	size_t size = count * sizeof(*heap->sites), used = before * sizeof(*heap->sites);
	struct allo_site *sites = NULL;

	ALLO_ASSERT(before <= count);
	if (allo_is_sampled(&heap->blocks.weighing) && !make_weighed(heap, before, count, err))
		return false;
	if (size / sizeof(*sites) == count)
		sites = aligned_alloc(sizeof(*sites), size);
	if (!sites)
		return allo_fail_memory(err);
	if (used > 0)
		memcpy(sites, heap->sites, used);
	memset(sites + before, 0, size - used);
	free(heap->sites);
	heap->sites = sites;
	return true;
}

bool allo_heap_init(struct allo_heap *heap, const struct allo_recording *recording,
		    struct allo_error *err)
{
	*heap = (struct allo_heap){ 0 };
	if (!allo_live_blocks_init(&heap->blocks, recording, err))
		return false;
	return make_sites(heap, 0, heap->blocks.stack_count, err);
}

/* Compact heaps. */

/* The sites have room for all stacks, of which only those in use take memory. */
static bool init_compact(struct allo_heap *heap, const struct allo_recording *recording,
			 struct allo_error *err)
{
	size_t count = recording->nodes.len, size = count * sizeof(*heap->sites);

	*heap = (struct allo_heap){ 0 };
	if (!allo_live_blocks_init(&heap->blocks, recording, err))
		return false;
	heap->ids = calloc(1, sizeof(*heap->ids));
	if (size / sizeof(*heap->sites) == count)
		heap->sites = aligned_alloc(sizeof(*heap->sites), size);
	if (!heap->ids || !heap->sites)
		return allo_fail_memory(err);
	heap->blocks.stack_count = 1;
	heap->sites[0] = (struct allo_site){ 0 };
	return allo_site_ids_take_stacks(heap->ids, count, err);
}

static void clear_new_sites(struct allo_heap *heap)
{
	size_t before = heap->blocks.stack_count, count = heap->ids->count;

	ALLO_ASSERT(before <= count);
	memset(heap->sites + before, 0, (count - before) * sizeof(*heap->sites));
	heap->blocks.stack_count = count;
}

static void swap_sites(struct allo_heap *heap, size_t a, size_t b)
{
	struct allo_site site = heap->sites[a];
	uint64_t made = heap->blocks.made[a];

	heap->sites[a] = heap->sites[b];
	heap->sites[b] = site;
	heap->blocks.made[a] = heap->blocks.made[b];
	heap->blocks.made[b] = made;
}

/* Moves each site to its new number. */
static void move_sites(struct allo_heap *heap, uint32_t *numbers)
{
	for (size_t i = 0; i < heap->blocks.stack_count; i++) {
		while (numbers[i] != i) {
			uint32_t to = numbers[i];

			swap_sites(heap, i, to);
			numbers[i] = numbers[to];
			numbers[to] = to;
		}
	}
}

/* Sorts sites by stack: the order of a heap that is not compact, which results are in. */
static bool sort_sites(struct allo_heap *heap, const struct allo_recording *recording,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) uint32_t *numbers = NULL;
	const struct allo_block_table *table = &heap->blocks.table;

	if (!allo_site_ids_sort(heap->ids, recording->nodes.len, &numbers, err))
		return false;
	for (size_t i = 0; i < allo_block_places(table); i++) {
		if (table->at[i].pointer != 0)
			table->at[i].stack = numbers[table->at[i].stack];
	}
	move_sites(heap, numbers);
	return true;
}

/* The site of a sum; 0, and a failure, if memory is short. */
static bool find_earlier_site(struct allo_heap *heap, const struct allo_recording *recording,
			      const struct allo_earlier_site *sum, uint32_t *site,
			      struct allo_error *err)
{
	struct allo_site_key key = { .stack = sum->stack < recording->nodes.len
						      ? (uint32_t)sum->stack
						      : 0,
				     .labels = allo_recording_same_set(recording, sum->labels) };

	*site = key.stack;
	if (!heap->ids)
		return true;
	if (heap->ids->by_stack) {
		*site = allo_site_of_stack(heap->ids, key.stack);
		clear_new_sites(heap);
		return true;
	}
	if (heap->ids->by_thread)
		key.stream = ALLO_UNKNOWN_STREAM;
	*site = allo_site_keys_add(&heap->ids->keys, &key, err);
	return *site != 0 && allo_heap_cover_sites(heap, err);
}

/* Its values at the peak are saved, so they stay until there is a new peak. */
static void add_earlier_site(struct allo_site *site, const struct allo_earlier_site *sum)
{
	site->alloc_bytes += sum->bytes;
	site->lifetime_ns += sum->lifetime_ns;
	site->temporary_blocks += sum->temporary_blocks;
	site->max_bytes += sum->max_bytes;
	site->max_blocks += (uint32_t)sum->max_blocks;
	site->kept_bytes += sum->peak_bytes;
	site->kept_blocks += (uint32_t)sum->peak_blocks;
	site->of_peak = 1;
}

static bool add_earlier_own(struct allo_heap *heap, const struct allo_recording *recording,
			    const struct allo_earlier_own *sum, struct allo_error *err)
{
	const struct allo_site_key key = {
		.stack = sum->stack < recording->nodes.len ? (uint32_t)sum->stack : 0,
		.stream = heap->own.by_thread ? ALLO_UNKNOWN_STREAM : 0,
		.labels = allo_recording_same_set(recording, sum->labels),
		.name = allo_recording_same_text(recording, sum->name),
	};

	return allo_own_events_add(&heap->own, &key,
				   (struct allo_own_sum){ sum->events, sum->units }, err);
}

bool allo_heap_add_earlier(struct allo_heap *heap, const struct allo_recording *recording,
			   struct allo_error *err)
{
	const struct allo_earlier *earlier = recording->earlier;
	uint32_t site;

	if (!earlier)
		return true;
	allo_live_blocks_add_totals(&heap->blocks, recording);
	heap->peaks = 1;
	for (size_t i = 0; i < earlier->sites.len; i++) {
		if (!find_earlier_site(heap, recording, &earlier->sites.at[i], &site, err))
			return false;
		heap->blocks.made[site] += earlier->sites.at[i].blocks;
		add_earlier_site(&heap->sites[site], &earlier->sites.at[i]);
	}
	for (size_t i = 0; i < earlier->own.len; i++) {
		if (!add_earlier_own(heap, recording, &earlier->own.at[i], err))
			return false;
	}
	return true;
}

bool allo_heap_grow(struct allo_heap *heap, const struct allo_recording *recording,
		    size_t stream_count, struct allo_error *err)
{
	size_t before = heap->blocks.stack_count;

	return allo_live_blocks_grow(&heap->blocks, recording, stream_count, err) &&
	       (heap->blocks.stack_count == before ||
		make_sites(heap, before, heap->blocks.stack_count, err));
}

void allo_heap_done(struct allo_heap *heap)
{
	allo_live_blocks_done(&heap->blocks);
	free(heap->sites);
	heap->sites = NULL;
	free(heap->weighed);
	heap->weighed = NULL;
	allo_vec_done(&heap->before);
	allo_vec_done(&heap->weighed_before);
	allo_vec_done(&heap->births);
	if (heap->ids)
		allo_site_ids_done(heap->ids);
	free(heap->ids);
	heap->ids = NULL;
	allo_own_events_done(&heap->own);
	heap->own = (struct allo_own_events){ 0 };
}

/* Counts any event.  `retired` is the block that it retires, if any. */
static inline void count_outcome(struct allo_heap *heap, const struct allo_event *event,
				 const struct allo_outcome *outcome,
				 const struct allo_outcome *retired)
{
	if (allo_outcome_ends_block(outcome, event))
		count_ended(heap, outcome, event->kind == ALLO_EVENT_RESIZE, event->ns);
	if (outcome->flags & ALLO_OUTCOME_RETIRED)
		count_ended(heap, retired, false, event->ns);
	if (outcome->flags & ALLO_OUTCOME_CREATED)
		count_created(heap, outcome, event->size);
}

static void weigh_lifetime(const struct allo_heap *heap, struct allo_weighed_site *site,
			   const struct allo_weight *weight, uint64_t birth_ns, uint64_t ns)
{
	if (birth_ns >= heap->from_ns && ns > birth_ns)
		allo_weighed_site_end(site, ns - birth_ns, weight);
}

static void weigh_ended(const struct allo_heap *heap, const struct allo_outcome *ended, uint64_t ns)
{
	struct allo_weighed_site *site = &heap->weighed[ended->stack];
	struct allo_weight weight = allo_weigh(&heap->blocks.weighing, ended->size,
					       ended->birth_ns);

	allo_weighed_site_take(site, ended->size, &weight, heap->peaks);
	weigh_lifetime(heap, site, &weight, ended->birth_ns, ns);
}

/* Counts an event of a sampled recording with its weight.  Call it before count_outcome(), which
 * may start a new peak. */
static void weigh_outcome(const struct allo_heap *heap, const struct allo_event *event,
			  const struct allo_outcome *outcome, const struct allo_outcome *retired)
{
	if (allo_outcome_ends_block(outcome, event))
		weigh_ended(heap, outcome, event->ns);
	if (outcome->flags & ALLO_OUTCOME_RETIRED)
		weigh_ended(heap, retired, event->ns);
	if (outcome->flags & ALLO_OUTCOME_CREATED) {
		struct allo_weight weight = allo_weigh(&heap->blocks.weighing, event->size,
						       event->ns);

		allo_weighed_site_add(&heap->weighed[outcome->new_stack], event->size, &weight,
				      heap->peaks);
	}
}

void allo_heap_count_made(struct allo_heap *heap, uint32_t site, uint64_t size, uint64_t ns)
{
	bool is_peak = allo_live_blocks_count_made(&heap->blocks, site, size, ns);
	struct allo_outcome created = { .new_stack = site,
					.flags = is_peak ? ALLO_OUTCOME_PEAK : 0 };

	if (heap->weighed) {
		struct allo_weight weight = allo_weigh(&heap->blocks.weighing, size, ns);

		allo_weighed_site_add(&heap->weighed[site], size, &weight, heap->peaks);
	}
	count_created(heap, &created, size);
}

void allo_heap_count_ended(struct allo_heap *heap, const struct allo_outcome *ended, bool lives_on,
			   uint64_t ns)
{
	allo_live_blocks_count_ended(&heap->blocks, ended->size, ended->birth_ns);
	if (heap->weighed)
		weigh_ended(heap, ended, ns);
	count_ended(heap, ended, lives_on, ns);
}

/* Applies an event that is neither a plain allocation nor a plain free.  Inlined, it would take
 * registers from the loop. */
static __attribute__((noinline)) bool apply_slowly(struct allo_heap *heap,
						   struct allo_block_steps *steps, size_t i,
						   struct allo_error *err)
{
	struct allo_outcome outcome, retired, *next = &retired;

	if (!allo_block_step_slowly(steps, i, &outcome, &next, err))
		return false;
	count_outcome(heap, &steps->events[i], &outcome, &retired);
	return allo_own_events_take(&heap->own, &steps->events[i], err);
}

/* Sampled recordings have few events: there is no fast path. */
static __attribute__((noinline)) bool apply_weighed(struct allo_heap *heap,
						    const struct allo_event_span *span,
						    struct allo_error *err)
{
	struct allo_outcomes outcomes;

	return allo_heap_apply_with_outcomes(heap, span, &outcomes, err);
}

bool allo_heap_apply(struct allo_heap *heap, const struct allo_event_span *span,
		     struct allo_error *err)
{
	struct allo_block_steps steps;

	if (heap->weighed)
		return apply_weighed(heap, span, err);
	allo_block_steps_begin(&steps, &heap->blocks, span);
	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		struct allo_outcome created, ended;

		__builtin_prefetch(&heap->sites[allo_block_step_stack(&steps, i + SITES_AHEAD)], 1);
		if (allo_block_step_alloc(&steps, i, &created))
			count_created(heap, &created, event->size);
		else if (allo_block_step_free(&steps, i, &ended))
			count_ended(heap, &ended, false, event->ns);
		else if (!apply_slowly(heap, &steps, i, err))
			return false;
	}
	return true;
}

/* Prefetches the site of a later outcome. */
static inline void fetch_outcome(const struct allo_heap *heap, const struct allo_outcome *outcome)
{
	uint32_t site = outcome->flags & ALLO_OUTCOME_CREATED ? outcome->new_stack
			: outcome->flags & ALLO_OUTCOME_ENDED ? outcome->stack
							      : 0;

	__builtin_prefetch(&heap->sites[site], 1);
}

static inline bool count_outcomes(struct allo_heap *heap, const struct allo_event_span *span,
				  const struct allo_outcomes *outcomes, bool are_weighed,
				  struct allo_error *err)
{
	const struct allo_outcome *retired = outcomes->retired;

	for (size_t i = 0; i < span->count; i++) {
		if (i + SITES_AHEAD < span->count)
			fetch_outcome(heap, &outcomes->at[i + SITES_AHEAD]);
		if (are_weighed)
			weigh_outcome(heap, &span->events[i], &outcomes->at[i], retired);
		count_outcome(heap, &span->events[i], &outcomes->at[i], retired);
		retired += (outcomes->at[i].flags & ALLO_OUTCOME_RETIRED) != 0;
		if (!allo_own_events_take(&heap->own, &span->events[i], err))
			return false;
	}
	return true;
}

bool allo_heap_apply_with_outcomes(struct allo_heap *heap, const struct allo_event_span *span,
				   struct allo_outcomes *outcomes, struct allo_error *err)
{
	if (!allo_live_blocks_apply(&heap->blocks, span, outcomes, err))
		return false;
	return heap->weighed ? count_outcomes(heap, span, outcomes, true, err)
			     : count_outcomes(heap, span, outcomes, false, err);
}

void allo_heap_end_stacks(struct allo_heap *heap)
{
	if (!heap->ids) {
		allo_live_blocks_end(&heap->blocks);
		return;
	}
	heap->blocks.missing_stacks += heap->ids->missing;
	for (size_t i = 0; i < heap->ids->keys.at.len; i++)
		allo_live_blocks_end_stack(&heap->blocks, heap->ids->keys.at.at[i].stack,
					   heap->blocks.made[i]);
}

void allo_heap_count_live(struct allo_heap *heap, uint32_t site, uint64_t size, uint64_t birth_ns,
			  uint64_t end_ns)
{
	add_lifetime(heap, &heap->sites[site], birth_ns, end_ns);
	if (heap->weighed) {
		struct allo_weight weight = allo_weigh(&heap->blocks.weighing, size, birth_ns);

		weigh_lifetime(heap, &heap->weighed[site], &weight, birth_ns, end_ns);
	}
}

void allo_heap_end(struct allo_heap *heap, uint64_t end_ns)
{
	allo_heap_end_stacks(heap);
	for (size_t i = 0; i < allo_block_places(&heap->blocks.table); i++) {
		const struct allo_live_block *block = &heap->blocks.table.at[i];

		if (block->pointer != 0)
			allo_heap_count_live(heap, block->stack, block->size, block->birth_ns,
					     end_ns);
	}
}

bool allo_heap_keep_before(struct allo_heap *heap, struct allo_error *err)
{
	size_t count = heap->blocks.stack_count;

	heap->before.len = heap->weighed_before.len = 0;
	if (heap->weighed ? !allo_vec_cover(&heap->weighed_before, count)
			  : !allo_vec_cover(&heap->before, count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct allo_site *site = &heap->sites[i];

		if (heap->weighed)
			heap->weighed_before.at[i] = (struct allo_weighed_before){
				heap->weighed[i].alloc, heap->weighed[i].live
			};
		else
			heap->before.at[i] = (struct allo_site_before){
				heap->blocks.made[i],
				site->alloc_bytes,
				{ site->live_bytes, site->live_blocks },
			};
	}
	return true;
}

/* Resets all but the live blocks. */
static void restart(struct allo_heap *heap, uint64_t from_ns)
{
	allo_live_blocks_restart(&heap->blocks, from_ns);
	if (heap->ids)
		heap->ids->missing = 0;
	allo_own_events_restart(&heap->own);
	heap->from_ns = from_ns;
	for (size_t i = 0; i < heap->blocks.stack_count; i++) {
		struct allo_site *site = &heap->sites[i];

		*site = (struct allo_site){ .live_bytes = site->live_bytes,
					    .live_blocks = site->live_blocks,
					    .max_bytes = site->live_bytes,
					    .max_blocks = site->live_blocks };
		if (heap->weighed)
			allo_weighed_site_restart(&heap->weighed[i]);
	}
	heap->peaks = 1;
}

bool allo_heap_begin_window(struct allo_heap *heap, const struct allo_heap_options *options,
			    struct allo_error *err)
{
	restart(heap, options->window.from_ns);
	return !options->keeps_before || allo_heap_keep_before(heap, err);
}

bool allo_heap_tell_labels(struct allo_heap *heap, struct allo_error *err)
{
	heap->ids = calloc(1, sizeof(*heap->ids));
	if (!heap->ids)
		return allo_fail_memory(err);
	/* The site of a stack without labels keeps the stack's number. */
	for (uint32_t stack = 1; stack < heap->blocks.stack_count; stack++) {
		const struct allo_site_key key = { .stack = stack };

		if (allo_site_keys_add(&heap->ids->keys, &key, err) != stack)
			return false;
	}
	return true;
}

bool allo_heap_number_sites(struct allo_heap *heap, struct allo_event_span *span,
			    size_t stack_count, struct allo_error *err)
{
	if (!allo_site_ids_replace(heap->ids, span, stack_count, err))
		return false;
	if (!heap->ids->by_stack)
		return allo_heap_cover_sites(heap, err);
	clear_new_sites(heap);
	return true;
}

bool allo_heap_cover_sites(struct allo_heap *heap, struct allo_error *err)
{
	struct allo_live_blocks *blocks = &heap->blocks;
	size_t room = blocks->stack_count;
	uint64_t *made;

	if (heap->ids->keys.at.len <= room)
		return true;
	while (room < heap->ids->keys.at.len)
		room *= 2;
	made = reallocarray(blocks->made, room, sizeof(*made));
	if (!made)
		return allo_fail_memory(err);
	blocks->made = made;
	if (!make_sites(heap, blocks->stack_count, room, err))
		return false;
	ALLO_ASSERT(heap->ids->keys.at.len <= room && blocks->stack_count < room);
	memset(made + blocks->stack_count, 0, (room - blocks->stack_count) * sizeof(*made));
	blocks->stack_count = room;
	return true;
}

static bool apply_parts(struct allo_heap *heap, const struct allo_heap_options *options,
			struct allo_event_span *span, bool is_inside, struct allo_error *err)
{
	const struct allo_heap_observer *observer = options->observer;
	struct allo_timeline *timeline = options->timeline;
	struct allo_event_span part;
	struct allo_outcomes outcomes;

	while (allo_live_blocks_cut(&heap->blocks, span, &part)) {
		if (!timeline && !observer) {
			if (!allo_heap_apply(heap, &part, err))
				return false;
			continue;
		}
		if (!allo_heap_apply_with_outcomes(heap, &part, &outcomes, err) ||
		    (timeline && !allo_timeline_add(timeline, &part, &outcomes, is_inside, err)) ||
		    (observer && !observer->take(observer->context, heap, &part, &outcomes, err)))
			return false;
	}
	return true;
}

/* The number of events before a time. */
static size_t count_before(const struct allo_event_span *span, uint64_t ns)
{
	size_t count = 0;

	while (count < span->count && span->events[count].ns < ns)
		count++;
	return count;
}

/* The timeline of a bounded recording begins with its exact events. */
static bool apply_span(struct allo_heap *heap, const struct allo_heap_options *options,
		       struct allo_event_span *span, bool is_inside, struct allo_error *err)
{
	const struct allo_timeline *timeline = options->timeline;
	struct allo_event_span kept = *span;

	if (!timeline || timeline->from_ns <= options->window.from_ns || !is_inside)
		return apply_parts(heap, options, span, is_inside, err);
	kept.count = count_before(span, timeline->from_ns);
	span->events += kept.count;
	span->count -= kept.count;
	return apply_parts(heap, options, &kept, false, err) &&
	       apply_parts(heap, options, span, true, err);
}

/* Applies the events of the window and those before it. */
static bool replay_events(struct allo_heap *heap, struct allo_recording *recording,
			  const struct allo_heap_options *options, uint64_t *event_count,
			  struct allo_error *err)
{
	ALLO_DEFER(allo_window_close) struct allo_window_events events = { 0 };
	bool is_inside, has_begun = options->window.from_ns == 0;
	bool has_marks = options->marks && recording->texts.len > 0; /* each mark has a name */
	struct allo_event_span span;

	if (!allo_window_open(&events, recording, &options->window, err))
		return false;
	while (allo_window_next(&events, &span, &is_inside, err)) {
		if (is_inside && !has_begun) {
			if (!allo_heap_begin_window(heap, options, err))
				return false;
			has_begun = true;
		}
		if (heap->ids && !allo_heap_number_sites(heap, &span, recording->nodes.len, err))
			return false;
		if (has_marks && is_inside && !allo_marks_take(options->marks, &span, err))
			return false;
		if (!apply_span(heap, options, &span, is_inside, err))
			return false;
	}
	*event_count = events.count;
	return !allo_failed(err) && (has_begun || allo_heap_begin_window(heap, options, err));
}

/* Sums are not known by time or thread. */
static bool includes_earlier(const struct allo_heap_options *options)
{
	return options->window.from_ns == 0 && !options->window.threads;
}

static bool init(struct allo_heap *heap, struct allo_recording *recording,
		 const struct allo_heap_options *options, struct allo_error *err)
{
	if (!allo_heap_wants_keys(recording, options))
		return options->is_compact ? init_compact(heap, recording, err)
					   : allo_heap_init(heap, recording, err);
	if (!allo_heap_init(heap, recording, err))
		return false;
	heap->ids = calloc(1, sizeof(*heap->ids));
	if (!heap->ids)
		return allo_fail_memory(err);
	heap->ids->by_thread = options->by_thread;
	return true;
}

bool allo_heap_replay(struct allo_heap *heap, struct allo_recording *recording,
		      const struct allo_heap_options *options, uint64_t *event_count,
		      struct allo_error *err)
{
	const struct allo_heap_observer *observer = options->observer;
	struct allo_timeline *timeline = options->timeline;
	uint64_t end_ns;

	if (!init(heap, recording, options, err))
		return false;
	ALLO_ASSERT(!options->is_compact || (!observer && !options->keeps_before &&
					     !allo_is_sampled(&heap->blocks.weighing)));
	heap->blocks.keeps_first = options->keeps_first && !heap->weighed;
	heap->own.by_thread = options->by_thread;
	if (timeline) {
		/* Sums of a bounded recording have no times. */
		timeline->from_ns = allo_recording_exact_ns(recording);
		if (timeline->from_ns < options->window.from_ns)
			timeline->from_ns = options->window.from_ns;
		timeline->weighing = heap->blocks.weighing;
	}
	if (includes_earlier(options) && !allo_heap_add_earlier(heap, recording, err))
		return false;
	if (!replay_events(heap, recording, options, event_count, err))
		return false;
	if (includes_earlier(options) && recording->earlier)
		*event_count += recording->earlier->totals.events;
	if (heap->ids && heap->ids->by_stack && !sort_sites(heap, recording, err))
		return false;
	end_ns = allo_window_end(&options->window, recording, heap->blocks.last_ns);
	allo_heap_end(heap, end_ns);
	recording->gaps.missing_stacks += heap->blocks.missing_stacks;
	return (!timeline || allo_timeline_end(timeline, end_ns, err)) &&
	       (!observer || observer->end(observer->context, heap, end_ns, err));
}
