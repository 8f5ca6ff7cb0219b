/* recording_profile.c - see recording_profile.h. */
#include "replay/recording_profile.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/heap_cache.h"
#include "replay/heap_samples.h"
#include "replay/recording_stacks.h"
#include "replay/site_labels.h"

#include <stdlib.h>

struct making {
	struct allo_profile *profile;
	struct allo_recording *recording;
	const struct allo_replay *replay;
	struct allo_heap heap;
	allo_stack_id *stacks;  /* by node */
	allo_labels_id *labels; /* by site, where sites are more than stacks */
};

static void making_done(struct making *making)
{
	free(making->stacks);
	free(making->labels);
	allo_heap_done(&making->heap);
}

/* Makes stacks of the nodes at which something happened, and of those that somebody wants. */
static bool add_stacks(struct making *making, struct allo_error *err)
{
	const bool *nodes = making->replay->nodes;
	size_t count = making->recording->nodes.len;
	ALLO_DEFER(allo_free_pointer) bool *is_wanted = calloc(count, sizeof(*is_wanted));

	if (!is_wanted)
		return allo_fail_memory(err);
	if (nodes)
		memcpy(is_wanted, nodes, count * sizeof(*nodes));
	for (size_t i = 0; i < making->heap.blocks.stack_count; i++) {
		if (allo_heap_has_site(&making->heap, i))
			is_wanted[allo_heap_stack(&making->heap, i)] = true;
	}
	for (size_t i = 1; i < making->heap.own.sums.len; i++)
		is_wanted[making->heap.own.keys.at.at[i].stack] = true;
	return allo_recording_add_stacks(making->profile, making->recording, is_wanted,
					 &making->stacks, err);
}

/* Numbers. */

/* Whether the recording is one of the heap; if it is not, events of the program's own are all that
 * there is. */
static bool has_heap(const struct making *making)
{
	return making->recording->head.sampling.mode != ALLO_MODE_AD_HOC;
}

/* Whether those of the program's own are told of: an instant has none. */
static bool tells_own_events(const struct making *making)
{
	return making->replay->at == ALLO_AT_NONE &&
	       (making->heap.own.sums.len > 0 || !has_heap(making));
}

static bool add_site(struct making *making, size_t site, struct allo_heap_told *told,
		     struct allo_error *err)
{
	const struct allo_heap *heap = &making->heap;
	allo_stack_id stack = making->stacks[allo_heap_stack(heap, site)];
	allo_labels_id labels = 0;

	if (heap->ids)
		labels = making->labels[site] = allo_site_labels_add(
			making->profile, making->recording, &heap->ids->keys.at.at[site],
			making->replay->by_thread, err);
	return !allo_failed(err) &&
	       allo_heap_add_sample(making->profile, heap, site, making->replay->at, stack, labels,
				    told, err);
}

static bool add_heap(struct making *making, struct allo_error *err)
{
	size_t count = making->heap.blocks.stack_count;
	struct allo_heap_told told = { 0 };

	if (making->heap.ids) {
		making->labels = calloc(count, sizeof(*making->labels));
		if (!making->labels)
			return allo_fail_memory(err);
	}
	for (size_t i = 0; i < count; i++) {
		if (allo_heap_has_site(&making->heap, i) && !add_site(making, i, &told, err))
			return false;
	}
	return true;
}

static bool add_own_events(struct making *making, size_t metric, struct allo_error *err)
{
	const struct allo_own_events *own = &making->heap.own;

	for (size_t i = 1; i < own->sums.len; i++) {
		const struct allo_site_key *key = &own->keys.at.at[i];
		allo_labels_id labels = allo_site_labels_add(making->profile, making->recording,
							     key, making->replay->by_thread, err);

		if (allo_failed(err) ||
		    !allo_own_events_add_sample(making->profile, metric, &own->sums.at[i],
						making->stacks[key->stack], labels, err))
			return false;
	}
	return true;
}

/* All metrics come before the first sample. */
static bool add_samples(struct making *making, struct allo_error *err)
{
	bool tells_own = tells_own_events(making);
	size_t own_metric = 0;

	if (has_heap(making) &&
	    !allo_heap_add_metrics(making->profile, &making->heap, making->replay->at, err))
		return false;
	if (tells_own && !allo_own_events_add_metrics(making->profile, &own_metric, err))
		return false;
	return (!has_heap(making) || add_heap(making, err)) &&
	       (!tells_own || add_own_events(making, own_metric, err));
}

/* What is known about the run. */

static allo_string_id add_command(struct making *making, struct allo_error *err)
{
	const struct allo_recording *recording = making->recording;
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
		id = allo_profile_add_string(making->profile,
					     (struct allo_text){ command.at, command.len }, err);
	else
		id = allo_profile_add_string(making->profile, recording->program, err);
	allo_vec_done(&command);
	return id;
}

/* What was sampled, and how much of it; 1 is all. */
static bool set_period(struct making *making, struct allo_error *err)
{
	const struct allo_wire_sampling *sampling = &making->recording->head.sampling;
	const struct allo_weighing *weighing = &making->heap.blocks.weighing;
	bool by_events = allo_is_sampled(weighing) && !weighing->by_bytes;
	struct allo_meta *meta = &making->profile->meta;

	meta->period_type = allo_profile_add_string(
		making->profile, by_events ? ALLO_TEXT("allocations") : ALLO_TEXT("space"), err);
	meta->period_unit = allo_profile_add_string(
		making->profile, by_events ? ALLO_TEXT("count") : ALLO_TEXT("bytes"), err);
	meta->period = 1;
	if (allo_is_sampled(weighing))
		meta->period = sampling->rate > INT64_MAX ? INT64_MAX : (int64_t)sampling->rate;
	return !allo_failed(err);
}

static bool set_meta(struct making *making, struct allo_error *err)
{
	const struct allo_recording *recording = making->recording;
	struct allo_profile *profile = making->profile;
	struct allo_meta *meta = &profile->meta;
	const struct allo_window *window = &making->replay->window;
	const struct allo_live_blocks *blocks = &making->heap.blocks;
	uint64_t end_ns = allo_window_end(window, recording, blocks->last_ns);
	uint64_t peak_bytes = allo_live_blocks_totals(blocks).peak_bytes;

	meta->command = add_command(making, err);
	meta->producer = allo_profile_add_string(profile, ALLO_TEXT("Allotrope"), err);
	meta->dialect = allo_profile_add_string(
		profile, recording->is_packed ? ALLO_TEXT("packed") : ALLO_TEXT("raw"), err);
	allo_recording_set_process(profile, recording);
	if (meta->run_ns < end_ns)
		meta->run_ns = end_ns;
	meta->duration = end_ns > window->from_ns ? end_ns - window->from_ns : 0;
	meta->peak_time = allo_window_peak_ns(window, recording, peak_bytes, blocks->peak_ns) -
			  window->from_ns;
	meta->default_metric = has_heap(making) ? allo_heap_default_metric(making->replay->at)
						: making->profile->metrics.len;
	return !allo_failed(err) && set_period(making, err);
}

static bool tell_birth(const struct making *making, size_t site, uint64_t birth_ns,
		       struct allo_error *err)
{
	const struct allo_replay *replay = making->replay;

	return replay->take_live(replay->live_context,
				 making->stacks[allo_heap_stack(&making->heap, site)],
				 making->labels ? making->labels[site] : 0, birth_ns, err);
}

/* The live blocks of a heap from the cache. */
static bool tell_cached_live(const struct making *making, struct allo_error *err)
{
	const struct allo_heap *heap = &making->heap;
	size_t next = 0;

	for (size_t site = 0; site < heap->blocks.stack_count; site++) {
		for (size_t i = 0; i < heap->sites[site].live_blocks; i++) {
			if (!tell_birth(making, site, heap->births.at[next++], err))
				return false;
		}
	}
	ALLO_ASSERT(next == heap->births.len);
	return true;
}

/* By now the profile says how long the run was. */
static bool tell_live(const struct making *making, struct allo_error *err)
{
	const struct allo_block_table *table = &making->heap.blocks.table;

	if (!making->replay->take_live)
		return true;
	if (!table->at)
		return tell_cached_live(making, err);
	for (size_t i = 0; i < allo_block_places(table); i++) {
		const struct allo_live_block *block = &table->at[i];

		if (block->pointer != 0 && !tell_birth(making, block->stack, block->birth_ns, err))
			return false;
	}
	return true;
}

/* Whether the process had blocks that are not known here. */
static bool may_free_unknown(const struct making *making)
{
	const struct allo_wire_head *head = &making->recording->head;

	return head->min_size > 0 || head->has_earlier || making->replay->window.threads;
}

static void set_notes(struct making *making)
{
	const struct allo_recording *recording = making->recording;
	const struct allo_gaps *gaps = &recording->gaps;
	struct allo_pos damage = { .file = recording->name, .byte = gaps->damaged_at + 1 };
	const struct {
		enum allo_note note;
		uint64_t count;
	} notes[] = {
		{ ALLO_NOTE_CUT, gaps->is_cut },
		{ ALLO_NOTE_KILLED, recording->head.end == ALLO_END_NONE },
		{ ALLO_NOTE_MISSING_BLOCKS, gaps->missing_pages },
		{ ALLO_NOTE_MISSING_THREADS, gaps->missing_streams },
		{ ALLO_NOTE_DAMAGED_BLOCKS, gaps->damaged_pages },
		{ ALLO_NOTE_UNREAD_BLOCKS, gaps->unread_pages },
		{ ALLO_NOTE_DROPPED_EVENTS, gaps->dropped_events },
		{ ALLO_NOTE_MISSING_STACKS, gaps->missing_stacks },
		{ ALLO_NOTE_NO_CLOCK, gaps->has_no_clock },
		/* Of blocks too small to be recorded, frees are seen all the same. */
		{ ALLO_NOTE_UNKNOWN_FREE,
		  may_free_unknown(making) ? 0 : making->heap.blocks.unknown_frees },
		{ ALLO_NOTE_SATURATED, making->heap.blocks.overflows },
		{ ALLO_NOTE_SATURATED, making->heap.has_long_lifetimes },
	};

	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		allo_note_many(&making->profile->notes, notes[i].note, notes[i].count,
			       notes[i].note == ALLO_NOTE_DAMAGED_BLOCKS ? damage : ALLO_NOWHERE);
}

/* How many have allocated, where several sites may be of one. */
static bool count_stacks(const struct making *making, uint64_t *count, struct allo_error *err)
{
	const struct allo_heap *heap = &making->heap;
	ALLO_DEFER(allo_free_pointer)
	bool *is_counted = calloc(making->recording->nodes.len, sizeof(*is_counted));

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

static bool set_summary(const struct making *making, uint64_t events, struct allo_summary *summary,
			struct allo_error *err)
{
	allo_summary_of_blocks(summary, making->recording, &making->heap.blocks, events);
	return !making->heap.ids || count_stacks(making, &summary->stacks, err);
}

static bool make_heap(struct making *making, const struct allo_heap_options *options,
		      uint64_t *events, struct allo_error *err)
{
	struct allo_heap_options with_marks = *options;
	ALLO_DEFER(allo_marks_done) struct allo_marks marks = { 0 };

	if (!making->replay->use_cache)
		return allo_heap_replay(&making->heap, making->recording, options, events, err);
	if (allo_heap_cache_load(&making->heap, making->recording, options, events, err))
		return true;
	/* The next command that uses the cached heap may want marks. */
	if (!with_marks.marks)
		with_marks.marks = &marks;
	if (allo_failed(err) ||
	    !allo_heap_replay(&making->heap, making->recording, &with_marks, events, err))
		return false;
	allo_heap_cache_store(&making->heap, making->recording, &with_marks, *events);
	return true;
}

bool allo_profile_from_recording(struct allo_profile *profile, struct allo_recording *recording,
				 const struct allo_replay *replay, struct allo_summary *summary,
				 struct allo_error *err)
{
	static const struct allo_replay everything = { 0 };
	ALLO_DEFER(making_done)
	struct making making = { .profile = profile,
				 .recording = recording,
				 .replay = replay ? replay : &everything };
	struct allo_heap_options options = { .window = making.replay->window,
					     .by_thread = making.replay->by_thread,
					     .keeps_before = making.replay->at == ALLO_AT_CHANGE,
					     .keeps_first = making.replay->keeps_first,
					     .timeline = making.replay->timeline,
					     .marks = making.replay->marks,
					     .wants_births = making.replay->take_live != NULL };
	uint64_t events;

	if (!make_heap(&making, &options, &events, err) || !add_stacks(&making, err) ||
	    !add_samples(&making, err) || !set_meta(&making, err) || !tell_live(&making, err) ||
	    !allo_recording_use_names(profile, recording, err))
		return false;
	set_notes(&making);
	if (summary && !set_summary(&making, events, summary, err))
		return false;
	if (making.replay->stacks) {
		*making.replay->stacks = making.stacks;
		making.stacks = NULL;
	}
	return true;
}
