/* compaction.c - makes the next sums, kept blocks and starts of streams from a replay. */
#include "replay/ring/compaction.h"

#include "base/defer.h"
#include "replay/events/event_cursor.h"

#include <stdlib.h>

/* The next sums. */

static struct allo_site_key key_of(const struct allo_heap *heap, size_t site)
{
	return heap->ids ? heap->ids->keys.at.at[site]
			 : (struct allo_site_key){ .stack = (uint32_t)site };
}

static bool add_sites(struct allo_compaction *compactor, struct allo_error *err)
{
	const struct allo_heap *heap = &compactor->heap;
	size_t count = heap->ids ? heap->ids->keys.at.len : heap->blocks.stack_count;

	for (size_t i = 0; i < count; i++) {
		const struct allo_site *site = &heap->sites[i];
		struct allo_peak peak = allo_heap_peak(heap, site);
		struct allo_site_key key = key_of(heap, i);
		struct allo_earlier_site sum = {
			.stack = key.stack,
			.labels = key.labels,
			.blocks = heap->blocks.made[i] - site->live_blocks,
			.bytes = site->alloc_bytes - site->live_bytes,
			.lifetime_ns = site->lifetime_ns,
			.temporary_blocks = site->temporary_blocks,
			.max_bytes = site->max_bytes,
			.max_blocks = site->max_blocks,
			.peak_bytes = peak.bytes,
			.peak_blocks = peak.blocks,
		};

		if (allo_heap_has_site(heap, i) &&
		    !allo_vec_append(&compactor->next.sites, &sum, 1))
			return allo_fail_memory(err);
	}
	return true;
}

static bool add_own(struct allo_compaction *compactor, struct allo_error *err)
{
	const struct allo_own_events *own = &compactor->heap.own;

	for (size_t i = 1; i < own->sums.len; i++) {
		const struct allo_site_key *key = &own->keys.at.at[i];
		struct allo_earlier_own sum = { key->stack, key->labels, key->name,
						own->sums.at[i].events, own->sums.at[i].units };

		if (!allo_vec_append(&compactor->next.own, &sum, 1))
			return allo_fail_memory(err);
	}
	return true;
}

static bool add_blocks(struct allo_compaction *compactor, struct allo_error *err)
{
	const struct allo_heap *heap = &compactor->heap;
	const struct allo_block_table *table = &heap->blocks.table;

	for (size_t i = 0; i < allo_block_places(table); i++) {
		const struct allo_live_block *block = &table->at[i];
		struct allo_event event = { .ns = block->birth_ns,
					    .pointer = block->pointer,
					    .size = block->size,
					    .stack = block->stack,
					    .kind = ALLO_EVENT_ALLOC };

		if (block->pointer == 0)
			continue;
		event.stack = key_of(heap, block->stack).stack;
		event.note = key_of(heap, block->stack).labels;
		event.stream = compactor->streams.at[block->number] & ALLO_STREAMS_MAX;
		if (!allo_vec_append(&compactor->next.kept, &event, 1))
			return allo_fail_memory(err);
	}
	return true;
}

static int compare_kept(const void *a, const void *b)
{
	const struct allo_event *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->pointer < y->pointer ? -1 : x->pointer > y->pointer;
}

/* Adds a change of labels; `sets` has the current ones of all streams. */
static bool change_labels(struct allo_compaction *compactor, uint32_t *sets, uint32_t stream,
			  uint32_t set, uint64_t ns)
{
	const struct allo_event event = { .ns = ns,
					  .note = set,
					  .stream = stream & ALLO_STREAMS_MAX,
					  .kind = ALLO_EVENT_LABELS };

	if (sets[stream] == set)
		return true;
	sets[stream] = set;
	return allo_vec_append(&compactor->next.kept, &event, 1);
}

/* Puts changes of labels between the kept events, and those to the labels at the end after them. */
static bool add_labels(struct allo_compaction *compactor, struct allo_error *err)
{
	size_t streams = compactor->recording.streams.len;
	ALLO_DEFER(allo_free_pointer) uint32_t *sets = calloc(streams + 1, sizeof(*sets));
	ALLO_DEFER(allo_free_pointer) struct allo_event *kept = compactor->next.kept.at;
	size_t count = compactor->next.kept.len;
	bool ok = sets != NULL;

	memset(&compactor->next.kept, 0, sizeof(compactor->next.kept));
	for (size_t i = 0; i < count && ok; i++) {
		struct allo_event event = kept[i];

		if (event.kind == ALLO_EVENT_ALLOC) {
			ok = change_labels(compactor, sets, event.stream, (uint32_t)event.note,
					   event.ns);
			event.note = 0;
		}
		ok = ok && allo_vec_append(&compactor->next.kept, &event, 1);
	}
	for (uint32_t i = 0; i < streams && ok && compactor->heap.ids; i++)
		ok = change_labels(compactor, sets, i,
				   allo_stream_labels_of(&compactor->heap.ids->labels, i),
				   compactor->until_ns > 0 ? compactor->until_ns - 1 : 0);
	return ok || allo_fail_memory(err);
}

/* Without kept events, which a replay counts again. */
static void add_totals(struct allo_compaction *compactor, uint64_t marks)
{
	const struct allo_live_blocks *blocks = &compactor->heap.blocks;
	const struct allo_earlier *before = compactor->recording.earlier;
	struct allo_tick_scale scale = compactor->events.scale;
	struct allo_earlier_totals *totals = &compactor->next.totals;

	if (before)
		*totals = before->totals;
	totals->exact_ticks = allo_ns_to_ticks(scale, compactor->until_ns);
	totals->events += compactor->events.count - blocks->count - marks;
	totals->allocations = blocks->allocations - blocks->count;
	totals->total_bytes = blocks->total_bytes - blocks->bytes;
	totals->frees = blocks->frees;
	totals->resizes = blocks->resizes;
	totals->failed_resizes = blocks->failed_resizes;
	totals->unknown_frees = blocks->unknown_frees;
	totals->late_frees = blocks->late_frees;
	totals->overflows = blocks->overflows;
	totals->missing_stacks = blocks->missing_stacks;
	if (compactor->heap.ids)
		totals->missing_stacks += compactor->heap.ids->missing;
	totals->own_events = blocks->own_events;
	totals->own_units = blocks->own_units;
	totals->peak_bytes = blocks->peak_bytes;
	totals->peak_blocks = blocks->peak_blocks;
	totals->peak_ticks = allo_ns_to_ticks(scale, blocks->peak_ns);
}

/* Streams. */

/* Sets the place in a stream from its cursor, if it has one. */
static bool set_place(const struct allo_compaction *compactor, struct allo_stream_start *start,
		      struct allo_error *err)
{
	const struct allo_events *events = &compactor->events;
	const struct allo_stream_start *before = allo_earlier_start(compactor->recording.earlier,
								    start->number);
	const struct allo_event_cursor *cursor = NULL;

	for (size_t i = 0; i < events->heap.len + events->parked.len && !cursor; i++) {
		cursor = i < events->heap.len ? events->heap.at[i]
					      : events->parked.at[i - events->heap.len];
		if (cursor->number != start->number || !cursor->is_open)
			cursor = NULL;
	}
	if (!cursor && before) {
		start->sequence = before->sequence;
		start->events = before->events;
	}
	if (!cursor && (!before || !before->state))
		return true;
	start->state = calloc(1, sizeof(*start->state));
	if (!start->state)
		return allo_fail_memory(err);
	if (cursor)
		allo_event_cursor_place(cursor, start);
	else
		*start->state = *before->state;
	return true;
}

/* Frees the pages before the place, and counts those that were missing.  Returns whether there are
 * further pages. */
static bool free_pages(struct allo_compaction *compactor, const struct allo_stream *stream,
		       const struct allo_stream_start *start, struct allo_error *err)
{
	const struct allo_recording *recording = &compactor->recording;
	const struct allo_stream_start *before = allo_earlier_start(recording->earlier,
								    stream->number);
	uint64_t first = before ? before->sequence : 0, present = 0;
	bool has_more = false;

	for (size_t i = 0; i < stream->piece_count; i++) {
		const struct allo_piece *piece = &recording->pieces.at[stream->first_piece + i];

		/* A tail is never freed: the thread may write to it. */
		has_more |= piece->sequence >= start->sequence || !piece->is_sealed;
		present += piece->sequence < start->sequence;
		if (piece->sequence < start->sequence && piece->is_sealed &&
		    !allo_vec_append(&compactor->freed, &piece->offset, 1))
			return allo_fail_memory(err);
	}
	if (start->sequence > first + present)
		compactor->next.totals.missing_pages += start->sequence - first - present;
	return has_more;
}

/* Adds a stream, unless it has ended and nothing refers to it. */
static bool add_start(struct allo_compaction *compactor, size_t index, const bool *is_needed,
		      uint32_t *number, struct allo_error *err)
{
	const struct allo_stream *stream = &compactor->recording.streams.at[index];
	struct allo_stream_start start = { .number = stream->number,
					   .thread = stream->thread,
					   .dropped = stream->dropped };
	bool has_more;

	if (compactor->heap.ids)
		start.labels = allo_stream_labels_of(&compactor->heap.ids->labels, (uint32_t)index);
	memcpy(start.name, stream->name.data, stream->name.len);
	if (!set_place(compactor, &start, err))
		return false;
	has_more = free_pages(compactor, stream, &start, err);
	if (!has_more && !is_needed[index] && !allo_failed(err)) {
		compactor->next.totals.threads++;
		compactor->next.totals.dropped_events += stream->dropped;
		free(start.state);
		return true;
	}
	*number = (uint32_t)compactor->next.starts.len;
	if (!has_more) {
		free(start.state);
		start.state = NULL;
	}
	if (allo_vec_append(&compactor->next.starts, &start, 1))
		return !allo_failed(err);
	free(start.state);
	return allo_fail_memory(err);
}

/* Streams up to the last one without a page yet. */
static bool add_unseen(struct allo_compaction *compactor, struct allo_error *err)
{
	const struct allo_recording *recording = &compactor->recording;
	const struct allo_earlier *before = recording->earlier;
	struct allo_earlier *next = &compactor->next;
	uint32_t number = 1, last = before ? (uint32_t)before->totals.last_stream : 0;

	for (size_t i = 0; i < recording->streams.len; i++) {
		uint32_t seen = recording->streams.at[i].number;

		for (; number < seen; number++) {
			if ((number > last || !allo_earlier_covers(before, number, 0)) &&
			    !allo_vec_append(&next->unseen, &number, 1))
				return allo_fail_memory(err);
		}
		number = seen + 1;
		if (seen > next->totals.last_stream)
			next->totals.last_stream = seen;
	}
	return true;
}

/* Streams become indexes of starts, times become ticks.  Labels of threads that have ended are
 * dropped. */
static void number_kept(struct allo_compaction *compactor, const uint32_t *numbers)
{
	struct allo_earlier *next = &compactor->next;
	size_t kept = 0;

	for (size_t i = 0; i < next->kept.len; i++) {
		struct allo_event event = next->kept.at[i];
		uint32_t number = numbers[event.stream];

		if (number == UINT32_MAX) {
			if (event.kind != ALLO_EVENT_MARK || next->starts.len == 0)
				continue;
			number = 0;
		}
		event.stream = number & ALLO_STREAMS_MAX;
		event.ns = allo_ns_to_ticks(compactor->events.scale, event.ns);
		next->kept.at[kept++] = event;
	}
	next->kept.len = kept;
}

static bool add_starts(struct allo_compaction *compactor, struct allo_error *err)
{
	size_t count = compactor->recording.streams.len;
	ALLO_DEFER(allo_free_pointer) bool *is_needed = calloc(count + 1, sizeof(*is_needed));
	ALLO_DEFER(allo_free_pointer) uint32_t *numbers = calloc(count + 1, sizeof(*numbers));

	if (!is_needed || !numbers)
		return allo_fail_memory(err);
	memset(numbers, -1, (count + 1) * sizeof(*numbers));
	for (size_t i = 0; i < compactor->next.kept.len; i++) {
		if (compactor->next.kept.at[i].kind == ALLO_EVENT_ALLOC)
			is_needed[compactor->next.kept.at[i].stream] = true;
	}
	for (size_t i = 0; i < count; i++) {
		if (compactor->recording.streams.at[i].kind == ALLO_STREAM_EVENTS &&
		    !add_start(compactor, i, is_needed, &numbers[i], err))
			return false;
	}
	number_kept(compactor, numbers);
	return add_unseen(compactor, err);
}

/* The first slot that a thread may still write for the first time. */
static uint64_t settled_of(const struct allo_recording *recording)
{
	uint64_t end = recording->scanned;

	for (size_t i = 0; i < recording->blanks.len; i++) {
		if (recording->blanks.at[i] < end)
			end = recording->blanks.at[i];
	}
	return end;
}

bool allo_compaction_sum_up(struct allo_compaction *compactor, struct allo_error *err)
{
	struct allo_earlier *next = &compactor->next;
	uint64_t marks = compactor->heap.blocks.marks;

	add_totals(compactor, marks);
	if (!add_sites(compactor, err) || !add_own(compactor, err) || !add_blocks(compactor, err))
		return false;
	if (next->kept.len > 0)
		qsort(next->kept.at, next->kept.len, sizeof(*next->kept.at), compare_kept);
	if (!add_labels(compactor, err) || !add_starts(compactor, err))
		return false;
	next->totals.damaged_pages = compactor->recording.gaps.damaged_pages;
	next->totals.unread_pages = compactor->recording.gaps.unread_pages;
	next->totals.settled = settled_of(&compactor->recording);
	next->totals.freed_pages += compactor->freed.len;
	return true;
}
