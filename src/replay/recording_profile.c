/* recording_profile.c - stacks, samples, facts about the run and notes, in this order. */
#include "replay/recording_profile.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/heap_cache.h"
#include "replay/heap_samples.h"
#include "replay/recording/recording_stacks.h"
#include "replay/site_labels.h"
#include "wire/stacks.h"

#include <stdlib.h>

/* The sites of fewer nodes take less than 16 MiB. */
enum { COMPACT_NODES_LEAST = 1 << 18 };

struct builder {
	struct allo_profile *profile;
	struct allo_recording *recording;
	const struct allo_replay *replay;
	struct allo_heap heap;
	allo_stack_id *stacks;  /* by node */
	allo_labels_id *labels; /* by site, if sites have numbers */
};

static void builder_done(struct builder *builder)
{
	free(builder->stacks);
	free(builder->labels);
	if (!builder->replay->heap)
		allo_heap_done(&builder->heap);
}

/* Adds the stacks of all sites, and of the nodes that the caller wants. */
static bool add_stacks(struct builder *builder, struct allo_error *err)
{
	const bool *nodes = builder->replay->nodes;
	size_t count = builder->recording->nodes.len;
	ALLO_DEFER(allo_free_pointer) bool *is_wanted = calloc(count, sizeof(*is_wanted));

	if (!is_wanted)
		return allo_fail_memory(err);
	if (nodes)
		memcpy(is_wanted, nodes, count * sizeof(*nodes));
	for (size_t i = 0; i < builder->heap.blocks.stack_count; i++) {
		ALLO_ASSERT(!allo_heap_has_site(&builder->heap, i) ||
			    allo_heap_stack(&builder->heap, i) < count);
		if (allo_heap_has_site(&builder->heap, i))
			is_wanted[allo_heap_stack(&builder->heap, i)] = true;
	}
	for (size_t i = 1; i < builder->heap.own.sums.len; i++)
		is_wanted[builder->heap.own.keys.at.at[i].stack] = true;
	return allo_recording_add_stacks(builder->profile, builder->recording, is_wanted,
					 &builder->stacks, err);
}

/* Samples. */

/* Whether the recording has allocations; if not, it has events of the program only. */
static bool has_heap(const struct builder *builder)
{
	return builder->recording->head.sampling.mode != ALLO_MODE_AD_HOC;
}

/* Whether the profile has metrics for events of the program: an instant has none. */
static bool has_own_events(const struct builder *builder)
{
	return builder->replay->at == ALLO_AT_NONE &&
	       (builder->heap.own.sums.len > 0 || !has_heap(builder));
}

static bool add_site(struct builder *builder, size_t site, struct allo_heap_sums *sums,
		     struct allo_error *err)
{
	const struct allo_heap *heap = &builder->heap;
	allo_stack_id stack = builder->stacks[allo_heap_stack(heap, site)];
	allo_labels_id labels = 0;

	if (heap->ids)
		labels = builder->labels[site] = allo_site_labels_add(
			builder->profile, builder->recording, &heap->ids->keys.at.at[site],
			builder->replay->by_thread, err);
	return !allo_failed(err) &&
	       allo_heap_add_sample(builder->profile, heap, site, builder->replay->at, stack,
				    labels, sums, err);
}

static bool add_heap(struct builder *builder, struct allo_error *err)
{
	size_t count = builder->heap.blocks.stack_count;
	struct allo_heap_sums sums = { 0 };

	if (builder->heap.ids) {
		builder->labels = calloc(count, sizeof(*builder->labels));
		if (!builder->labels)
			return allo_fail_memory(err);
	}
	for (size_t i = 0; i < count; i++) {
		if (allo_heap_has_site(&builder->heap, i) && !add_site(builder, i, &sums, err))
			return false;
	}
	return true;
}

static bool add_own_events(struct builder *builder, size_t metric, struct allo_error *err)
{
	const struct allo_own_events *own = &builder->heap.own;

	for (size_t i = 1; i < own->sums.len; i++) {
		const struct allo_site_key *key = &own->keys.at.at[i];
		allo_labels_id labels = allo_site_labels_add(builder->profile, builder->recording,
							     key, builder->replay->by_thread, err);

		if (allo_failed(err) ||
		    !allo_own_events_add_sample(builder->profile, metric, &own->sums.at[i],
						builder->stacks[key->stack], labels, err))
			return false;
	}
	return true;
}

/* Adds all metrics before the first sample. */
static bool add_samples(struct builder *builder, struct allo_error *err)
{
	bool has_own = has_own_events(builder);
	size_t own_metric = 0;

	if (has_heap(builder) &&
	    !allo_heap_add_metrics(builder->profile, &builder->heap, builder->replay->at, err))
		return false;
	if (has_own && !allo_own_events_add_metrics(builder->profile, &own_metric, err))
		return false;
	return (!has_heap(builder) || add_heap(builder, err)) &&
	       (!has_own || add_own_events(builder, own_metric, err));
}

/* Facts about the run. */

static allo_string_id add_command(struct builder *builder, struct allo_error *err)
{
	const struct allo_recording *recording = builder->recording;
	ALLO_VEC(char) command = { 0 };
	allo_string_id id = 0;
	bool ok = true;

	for (size_t i = 0; i < recording->arguments.len && ok; i++)
		ok = allo_vec_append(&command, " ", i > 0) &&
		     allo_vec_append(&command, recording->arguments.at[i].data,
				     recording->arguments.at[i].len);
	if (!ok)
		allo_fail_memory(err);
	else if (command.len > 0)
		id = allo_profile_add_string(builder->profile,
					     (struct allo_text){ command.at, command.len }, err);
	else
		id = allo_profile_add_string(builder->profile, recording->program, err);
	allo_vec_done(&command);
	return id;
}

/* The sampling interval; 1 if all allocations are recorded. */
static bool set_period(struct builder *builder, struct allo_error *err)
{
	const struct allo_wire_sampling *sampling = &builder->recording->head.sampling;
	const struct allo_weighing *weighing = &builder->heap.blocks.weighing;
	bool by_events = allo_is_sampled(weighing) && !weighing->by_bytes;
	struct allo_meta *meta = &builder->profile->meta;

	meta->period_type = allo_profile_add_string(
		builder->profile, by_events ? ALLO_TEXT("allocations") : ALLO_TEXT("space"), err);
	meta->period_unit = allo_profile_add_string(
		builder->profile, by_events ? ALLO_TEXT("count") : ALLO_TEXT("bytes"), err);
	meta->period = 1;
	if (allo_is_sampled(weighing))
		meta->period = sampling->rate > INT64_MAX ? INT64_MAX : (int64_t)sampling->rate;
	return !allo_failed(err);
}

static struct allo_part part_of(const struct allo_replay *replay,
				const struct allo_recording *recording)
{
	const struct allo_window *window = &replay->window;
	bool is_instant = replay->at == ALLO_AT_PEAK || replay->at == ALLO_AT_END;

	return (struct allo_part){
		.of_thread = window->threads != NULL,
		.is_attached = recording->head.has_earlier == ALLO_EARLIER_ATTACHED,
		.of_range = !is_instant && (window->from_ns > 0 || window->to_ns > 0),
		.instant = replay->at == ALLO_AT_PEAK  ? ALLO_INSTANT_PEAK
			   : replay->at != ALLO_AT_END ? ALLO_INSTANT_UNKNOWN
			   : window->to_ns > 0         ? ALLO_INSTANT_TIME
						       : ALLO_INSTANT_END,
		/* The end of the window is exclusive. */
		.instant_ns = is_instant && window->to_ns > 0 ? window->to_ns - 1 : 0,
	};
}

static bool set_meta(struct builder *builder, struct allo_error *err)
{
	const struct allo_recording *recording = builder->recording;
	struct allo_profile *profile = builder->profile;
	struct allo_meta *meta = &profile->meta;
	const struct allo_window *window = &builder->replay->window;
	const struct allo_live_blocks *blocks = &builder->heap.blocks;
	uint64_t end_ns = allo_window_end(window, recording, blocks->last_ns);
	uint64_t peak_bytes = allo_live_blocks_totals(blocks).peak_bytes;
	uint64_t peak_ns = allo_window_peak_ns(window, recording, peak_bytes, blocks->peak_ns);

	meta->command = add_command(builder, err);
	meta->producer = allo_profile_add_string(profile, ALLO_TEXT("Allotrope"), err);
	meta->dialect = allo_profile_add_string(
		profile, recording->is_packed ? ALLO_TEXT("packed") : ALLO_TEXT("raw"), err);
	allo_recording_set_process(profile, recording);
	if (meta->run_ns < end_ns)
		meta->run_ns = end_ns;
	meta->part = part_of(builder->replay, builder->recording);
	meta->duration = end_ns > window->from_ns ? end_ns - window->from_ns : 0;
	/* The heap of a recording that is followed may have had its peak before the window. */
	meta->peak_time = peak_ns > window->from_ns ? peak_ns - window->from_ns : 0;
	meta->default_metric = has_heap(builder) ? allo_heap_default_metric(builder->replay->at)
						 : builder->profile->metrics.len;
	return !allo_failed(err) && set_period(builder, err);
}

static bool report_birth(const struct builder *builder, size_t site, uint64_t birth_ns,
			 struct allo_error *err)
{
	const struct allo_replay *replay = builder->replay;

	return replay->take_live(replay->live_context,
				 builder->stacks[allo_heap_stack(&builder->heap, site)],
				 builder->labels ? builder->labels[site] : 0, birth_ns, err);
}

/* The live blocks of a heap from the cache. */
static bool report_cached_live(const struct builder *builder, struct allo_error *err)
{
	const struct allo_heap *heap = &builder->heap;
	size_t next = 0;

	for (size_t site = 0; site < heap->blocks.stack_count; site++) {
		for (size_t i = 0; i < heap->sites[site].live_blocks; i++) {
			if (!report_birth(builder, site, heap->births.at[next++], err))
				return false;
		}
	}
	ALLO_ASSERT(next == heap->births.len);
	return true;
}

/* Call it after set_meta(): the callback reads the duration. */
static bool report_live(const struct builder *builder, struct allo_error *err)
{
	const struct allo_block_table *table = &builder->heap.blocks.table;

	if (!builder->replay->take_live)
		return true;
	if (!table->at)
		return report_cached_live(builder, err);
	for (size_t i = 0; i < allo_block_places(table); i++) {
		const struct allo_live_block *block = &table->at[i];

		if (block->pointer != 0 &&
		    !report_birth(builder, block->stack, block->birth_ns, err))
			return false;
	}
	return true;
}

/* Whether the process may free blocks that were not recorded. */
static bool may_free_unknown(const struct builder *builder)
{
	const struct allo_wire_head *head = &builder->recording->head;

	return head->min_size > 0 || head->has_earlier || builder->replay->window.threads ||
	       allo_recording_count_allocators(builder->recording, true) > 0;
}

static uint64_t count_without_functions(const struct allo_recording *recording)
{
	uint64_t count = 0;

	for (size_t i = 0; i < recording->interpreters.len; i++)
		count += recording->interpreters.at[i].state != ALLO_INTERPRETER_SEEN;
	return count;
}

void allo_recording_note_gaps(const struct allo_recording *recording, struct allo_notes *notes)
{
	const struct allo_gaps *gaps = &recording->gaps;
	const struct allo_pos file = { .file = recording->name };
	/* A packed recording with its trailer is whole: the raw one was truncated. */
	const bool ends_here = !recording->is_packed || gaps->has_no_trailer;
	const struct allo_pos cut = { .file = recording->name,
				      .byte = ends_here ? recording->size + 1 : 0 };
	const struct allo_pos damage = { .file = recording->name, .byte = gaps->damaged_at + 1 };
	const struct {
		enum allo_note note;
		uint64_t count;
	} found[] = {
		{ ALLO_NOTE_CUT, gaps->is_cut },
		{ ALLO_NOTE_KILLED, recording->head.end == ALLO_END_NONE },
		{ ALLO_NOTE_MISSING_PAGES, gaps->missing_pages },
		{ ALLO_NOTE_MISSING_THREADS, gaps->missing_streams },
		{ ALLO_NOTE_DAMAGED_PAGES, gaps->damaged_pages },
		{ ALLO_NOTE_UNREAD_PAGES, gaps->unread_pages },
		{ ALLO_NOTE_DROPPED_EVENTS, gaps->dropped_events },
		{ ALLO_NOTE_MISSING_STACKS, gaps->missing_stacks },
		{ ALLO_NOTE_LOST_STACKS, recording->head.losses.lost_stacks },
		{ ALLO_NOTE_NO_FUNCTIONS, count_without_functions(recording) },
		{ ALLO_NOTE_NO_ALLOCATOR, allo_recording_count_allocators(recording, false) },
		{ ALLO_NOTE_LOST_PROCESSES, recording->head.losses.children },
		{ ALLO_NOTE_EARLY_END, allo_end_is_early(recording->head.end) },
		{ ALLO_NOTE_NO_CLOCK, gaps->has_no_clock && recording->streams.len > 0 },
		{ ALLO_NOTE_BAD_INDEX, recording->has_bad_index },
		{ ALLO_NOTE_TRAILING_BYTES, recording->trailing },
		{ ALLO_NOTE_EARLIER_SUMS, recording->earlier != NULL },
	};

	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++)
		allo_note_many(notes, found[i].note, found[i].count,
			       found[i].note == ALLO_NOTE_CUT             ? cut
			       : found[i].note == ALLO_NOTE_DAMAGED_PAGES ? damage
									  : file);
}

static void set_notes(struct builder *builder)
{
	const struct allo_live_blocks *blocks = &builder->heap.blocks;
	struct allo_notes *notes = &builder->profile->notes;

	allo_recording_note_gaps(builder->recording, notes);
	/* Frees of blocks below min_size are recorded. */
	if (!may_free_unknown(builder))
		allo_note_many(notes, ALLO_NOTE_UNKNOWN_FREE, blocks->unknown_frees, ALLO_NOWHERE);
	allo_note_many(notes, ALLO_NOTE_SATURATED, blocks->overflows, ALLO_NOWHERE);
	allo_note_many(notes, ALLO_NOTE_SATURATED, builder->heap.has_long_lifetimes, ALLO_NOWHERE);
}

/* Counts stacks with allocations; a stack may have several sites. */
static bool count_stacks(const struct builder *builder, uint64_t *count, struct allo_error *err)
{
	const struct allo_heap *heap = &builder->heap;
	ALLO_DEFER(allo_free_pointer)
	bool *is_counted = calloc(builder->recording->nodes.len, sizeof(*is_counted));

	if (!is_counted)
		return allo_fail_memory(err);
	*count = 0;
	for (size_t i = 0; i < heap->blocks.stack_count; i++) {
		if (heap->blocks.made[i] == 0 || is_counted[allo_heap_stack(heap, i)])
			continue;
		is_counted[allo_heap_stack(heap, i)] = true;
		++*count;
	}
	return true;
}

static bool set_summary(const struct builder *builder, uint64_t events,
			struct allo_summary *summary, struct allo_error *err)
{
	allo_summary_of_blocks(summary, builder->recording, &builder->heap.blocks, events);
	return !builder->heap.ids || count_stacks(builder, &summary->stacks, err);
}

/* Replays, and stores the heap with all that the next command may want of it: marks, and finer
 * steps if this one wants a timeline. */
static bool replay_and_store(struct allo_heap *heap, struct allo_recording *recording,
			     const struct allo_heap_options *wanted, uint64_t *events,
			     struct allo_error *err)
{
	ALLO_DEFER(allo_marks_done) struct allo_marks marks = { 0 };
	struct allo_heap_options options = *wanted;
	struct allo_timeline *timeline = wanted->timeline;
	size_t most = timeline ? timeline->most : 0;
	bool is_finer = timeline && timeline->step_ns == 0 && most < ALLO_CACHED_STEPS &&
			recording->chunk_events >= ALLO_CACHED_EVENTS_LEAST;

	if (!options.marks)
		options.marks = &marks;
	if (is_finer)
		timeline->most = ALLO_CACHED_STEPS;
	if (!allo_heap_replay(heap, recording, &options, events, err))
		return false;
	allo_heap_cache_store(heap, recording, &options, *events);
	if (is_finer)
		allo_timeline_coarsen(timeline, most);
	return true;
}

/* Whether sites by stack would take much memory. */
static bool wants_compact(const struct allo_recording *recording, const struct allo_replay *replay)
{
	struct allo_weighing weighing = allo_weighing_of(recording);

	return recording->nodes.len >= COMPACT_NODES_LEAST && !replay->observer &&
	       replay->at != ALLO_AT_CHANGE && !allo_is_sampled(&weighing);
}

static struct allo_heap_options heap_options(const struct allo_recording *recording,
					     const struct allo_replay *replay)
{
	return (struct allo_heap_options){ .window = replay->window,
					   .by_thread = replay->by_thread,
					   .keeps_before = replay->at == ALLO_AT_CHANGE,
					   .keeps_first = replay->keeps_first,
					   .is_compact = wants_compact(recording, replay),
					   .timeline = replay->timeline,
					   .marks = replay->marks,
					   .wants_births = replay->take_live != NULL,
					   .observer = replay->observer };
}

bool allo_heap_of_replay(struct allo_heap *heap, struct allo_recording *recording,
			 const struct allo_replay *replay, uint64_t *events, struct allo_error *err)
{
	const struct allo_heap_options options = heap_options(recording, replay);

	if (!replay->use_cache)
		return allo_heap_replay(heap, recording, &options, events, err);
	if (!options.observer && allo_heap_cache_load(heap, recording, &options, events, err))
		return true;
	return !allo_failed(err) && replay_and_store(heap, recording, &options, events, err);
}

static bool make_heap(struct builder *builder, uint64_t *events, struct allo_error *err)
{
	const struct allo_replay *replay = builder->replay;

	if (!replay->heap)
		return allo_heap_of_replay(&builder->heap, builder->recording, replay, events, err);
	builder->heap = *replay->heap;
	*events = replay->heap_events;
	return true;
}

bool allo_profile_from_recording(struct allo_profile *profile, struct allo_recording *recording,
				 const struct allo_replay *replay, struct allo_summary *summary,
				 struct allo_error *err)
{
	static const struct allo_replay everything = { 0 };
	ALLO_DEFER(builder_done)
	struct builder builder = { .profile = profile,
				   .recording = recording,
				   .replay = replay ? replay : &everything };
	uint64_t events;

	if (!make_heap(&builder, &events, err) || !add_stacks(&builder, err) ||
	    !add_samples(&builder, err) || !set_meta(&builder, err) ||
	    !report_live(&builder, err) || !allo_recording_use_names(profile, recording, err))
		return false;
	set_notes(&builder);
	if (summary && !set_summary(&builder, events, summary, err))
		return false;
	if (builder.replay->stacks) {
		*builder.replay->stacks = builder.stacks;
		builder.stacks = NULL;
	}
	return true;
}
