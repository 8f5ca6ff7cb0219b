/*
 * log_replay.c - the changes of a log, counted one by one.
 *
 * Where only some threads are wanted, replay/window.c drops events before the replay.  The rules
 * here have the same result: a realloc across threads ends a block of the one thread and makes one
 * of the other; a packed recording keeps frees of unwanted blocks, which are unknown then.
 */
#include "view/log/log_replay.h"

#include "base/defer.h"
#include "view/log/change_log_stored.h"
#include "view/log/live_changes.h"

#include <stdlib.h>

/* The birth of a block that a change, given by its number, makes. */
struct other_birth {
	uint32_t number;
	uint64_t ns;
};

struct counter {
	const struct allo_change_log *log;
	const struct allo_heap_options *options;
	struct allo_heap *heap;
	uint32_t from_number; /* of the first change of the window */
	size_t next_aside;
	uint64_t watch_ns;
	uint64_t events;
	bool has_begun;
	bool is_retired; /* the next block that ends was retired */
	/* The next block is made by realloc of a block that is not counted, or that has another
	 * birth than in the log for this reason. */
	bool is_foreign, has_birth;
	uint64_t birth_ns;
	struct allo_live_changes live;
	ALLO_VEC(struct other_birth) births; /* of such blocks, by number */
};

static void counter_done(struct counter *counter)
{
	allo_live_changes_done(&counter->live);
	allo_vec_done(&counter->births);
}

static bool is_wanted(const struct counter *counter, uint32_t stream)
{
	const bool *threads = counter->options->window.threads;

	return !threads || threads[stream];
}

/* Called before each event: starts the window, and notes the live bytes at the watched time. */
static bool begin_at(struct counter *counter, uint64_t ns, struct allo_error *err)
{
	struct allo_live_blocks *blocks = &counter->heap->blocks;

	if (ns >= counter->watch_ns) {
		blocks->watched_bytes = allo_live_blocks_totals(blocks).bytes;
		blocks->watch_ns = counter->watch_ns = UINT64_MAX;
	}
	if (counter->has_begun || ns < counter->options->window.from_ns)
		return true;
	counter->has_begun = true;
	counter->events = 0;
	return allo_heap_begin_window(counter->heap, counter->options, err);
}

/* Asides. */

static void add_units(uint64_t *sum, uint64_t units)
{
	if (__builtin_add_overflow(*sum, units, sum))
		*sum = UINT64_MAX;
}

static bool take_own(struct counter *counter, const struct allo_log_aside *aside,
		     struct allo_error *err)
{
	struct allo_live_blocks *blocks = &counter->heap->blocks;
	struct allo_site_key key = { .stack = aside->stack,
				     .stream = counter->options->by_thread ? aside->stream : 0,
				     .labels = aside->labels,
				     .name = aside->note };

	counter->events++;
	blocks->own_events++;
	add_units(&blocks->own_units, aside->units);
	return allo_own_events_add(&counter->heap->own, &key,
				   (struct allo_own_sum){ 1, aside->units }, err);
}

/* A free of a block that is not live, or not counted. */
static void take_unknown(struct counter *counter, bool is_kept)
{
	if (!is_kept)
		return;
	counter->events++;
	counter->heap->blocks.frees++;
	counter->heap->blocks.unknown_frees++;
}

static void take_late(struct counter *counter, const struct allo_log_aside *aside)
{
	if (!is_wanted(counter, aside->owner)) {
		take_unknown(counter, counter->log->recording->is_packed);
		return;
	}
	counter->events++;
	counter->heap->blocks.frees++;
	counter->heap->blocks.late_frees++;
}

/* The old block of a realloc is not live. */
static void take_lost_old(struct counter *counter, const struct allo_log_aside *aside)
{
	bool is_late = aside->kind == ALLO_ASIDE_LATE_OLD && is_wanted(counter, aside->owner);

	counter->is_foreign = !is_late;
	if (!is_wanted(counter, aside->stream)) {
		if (is_late)
			take_late(counter, aside);
		else
			take_unknown(counter, counter->log->recording->is_packed);
	} else if (is_late) {
		counter->heap->blocks.late_frees++;
	} else {
		counter->heap->blocks.unknown_frees++;
	}
}

static bool take_aside(struct counter *counter, const struct allo_log_aside *aside,
		       struct allo_error *err)
{
	struct allo_live_blocks *blocks = &counter->heap->blocks;
	bool is_own = is_wanted(counter, aside->stream);

	switch ((enum allo_log_aside_kind)aside->kind) {
	case ALLO_ASIDE_UNKNOWN_FREE:
		take_unknown(counter, is_own || counter->log->recording->is_packed);
		break;
	case ALLO_ASIDE_LATE_FREE:
		take_late(counter, aside);
		break;
	case ALLO_ASIDE_UNKNOWN_OLD:
	case ALLO_ASIDE_LATE_OLD:
		take_lost_old(counter, aside);
		break;
	case ALLO_ASIDE_RETIRED:
		counter->is_retired = true;
		break;
	case ALLO_ASIDE_FAILED_RESIZE:
		blocks->failed_resizes += is_own;
		counter->events += is_own;
		break;
	case ALLO_ASIDE_MISSING_STACK:
		blocks->missing_stacks += is_own;
		break;
	case ALLO_ASIDE_NOTHING:
		counter->events += is_own;
		break;
	case ALLO_ASIDE_MARK:
		blocks->marks++;
		counter->events++;
		break;
	case ALLO_ASIDE_OWN:
		return !is_own || take_own(counter, aside, err);
	case ALLO_ASIDE_KINDS:
		break;
	}
	return true;
}

/* Takes all asides before a change and before a time. */
static bool take_asides(struct counter *counter, uint32_t number, uint64_t before_ns,
			struct allo_error *err)
{
	const struct allo_change_log *log = counter->log;

	for (; counter->next_aside < log->asides.len; counter->next_aside++) {
		const struct allo_log_aside *aside = &log->asides.at[counter->next_aside];

		if (aside->number > number || aside->ns >= before_ns)
			break;
		if (!begin_at(counter, aside->ns, err) || !take_aside(counter, aside, err))
			return false;
	}
	return true;
}

/* Changes. */

/* The site of a block in the heap; UINT32_MAX when memory is short. */
static uint32_t site_of(struct counter *counter, uint32_t log_site, uint32_t maker,
			struct allo_error *err)
{
	const struct allo_change_log *log = counter->log;
	uint32_t number = log->sites.at[log_site];
	struct allo_site_key key = { .stack = number };

	if (!counter->heap->ids)
		return number;
	if (log->keys.at.len > 0)
		key = log->keys.at.at[number];
	key.stream = counter->options->by_thread ? maker : 0;
	number = allo_site_keys_add(&counter->heap->ids->keys, &key, err);
	return number != 0 && allo_heap_cover_sites(counter->heap, err) ? number : UINT32_MAX;
}

static const struct other_birth *find_other(const struct counter *counter, uint32_t made)
{
	size_t low = 0, high = counter->births.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (counter->births.at[middle].number < made)
			low = middle + 1;
		else
			high = middle;
	}
	return low < counter->births.len && counter->births.at[low].number == made
		       ? &counter->births.at[low]
		       : NULL;
}

static uint64_t birth_of(const struct counter *counter, uint32_t made)
{
	const struct other_birth *other = find_other(counter, made);

	return other ? other->ns : allo_log_birth(counter->log, made);
}

/* Notes the birth of a block that realloc makes, if it is not that of the log. */
static bool note_birth(struct counter *counter, uint32_t number, uint64_t ns,
		       struct allo_error *err)
{
	struct other_birth birth = { number, counter->is_foreign ? ns : counter->birth_ns };
	bool is_other = counter->is_foreign || counter->has_birth;

	counter->is_foreign = counter->has_birth = false;
	return !is_other || allo_vec_add(&counter->births, birth, err);
}

static bool take_made(struct counter *counter, const struct allo_log_segment *segment, uint32_t at,
		      uint32_t number, uint64_t ns, struct allo_error *err)
{
	uint32_t stream = allo_segment_stream(segment, at), class = segment->refs[at], site;
	bool is_resized = allo_log_bit(segment->resized, at);
	struct allo_event event = {
		.ns = ns, .size = allo_log_size(counter->log, segment->class_sizes[class])
	};

	if (!is_wanted(counter, stream)) {
		counter->is_foreign = counter->has_birth = false;
		return true;
	}
	site = site_of(counter, segment->class_sites[class], stream, err);
	if (site == UINT32_MAX)
		return false;
	counter->events++;
	counter->heap->blocks.resizes += is_resized;
	allo_heap_count_made(counter->heap, site, event.size, ns);
	allo_live_changes_set(&counter->live, number);
	if (is_resized && !note_birth(counter, number, ns, err))
		return false;
	return !counter->options->timeline ||
	       allo_timeline_add_block(counter->options->timeline, &event, counter->has_begun, err);
}

/* Whether the block that a change ends is live, and is the one that was made.  A stored log may say
 * otherwise. */
static bool is_live(const struct counter *counter, const struct allo_log_segment *segment,
		    uint32_t at, uint32_t made)
{
	const struct allo_log_segment *from =
		&counter->log->segments.at[made / ALLO_SEGMENT_CHANGES];
	uint32_t class = allo_segment_class(segment, at);
	uint32_t before = allo_segment_class(from, made % ALLO_SEGMENT_CHANGES);

	return allo_live_changes_has(&counter->live, made) &&
	       segment->class_sites[class] == from->class_sites[before] &&
	       segment->class_sizes[class] == from->class_sizes[before] &&
	       allo_segment_maker(segment, at) ==
		       allo_segment_stream(from, made % ALLO_SEGMENT_CHANGES);
}

static bool end_block(struct counter *counter, const struct allo_log_segment *segment, uint32_t at,
		      uint32_t made, uint64_t ns, bool lives_on, struct allo_error *err)
{
	uint32_t class = allo_segment_class(segment, at);
	uint32_t maker = allo_segment_maker(segment, at);
	struct allo_outcome ended = {
		.size = allo_log_size(counter->log, segment->class_sizes[class]),
		.stack = site_of(counter, segment->class_sites[class], maker, err),
		.flags = allo_log_bit(segment->temporary, at) ? ALLO_OUTCOME_TEMPORARY : 0,
	};

	if (ended.stack == UINT32_MAX)
		return false;
	if (segment->packed.data && !is_live(counter, segment, at, made))
		return allo_log_fail_damaged(counter->log, err);
	/* The birth is needed for a weight, or for a lifetime that counts. */
	if (counter->heap->weighed || (!lives_on && made >= counter->from_number))
		ended.birth_ns = birth_of(counter, made);
	allo_live_changes_clear(&counter->live, made);
	allo_heap_count_ended(counter->heap, &ended, lives_on, ns);
	return !counter->options->timeline ||
	       allo_timeline_end_block(counter->options->timeline, ns, &ended, counter->has_begun,
				       err);
}

static bool take_ended(struct counter *counter, const struct allo_log_segment *segment, uint32_t at,
		       uint32_t made, uint64_t ns, struct allo_error *err)
{
	bool is_by_wanted = is_wanted(counter, allo_segment_stream(segment, at));
	bool is_resized = allo_log_bit(segment->resized, at), is_retired = counter->is_retired;
	bool lives_on = is_resized && is_by_wanted;

	counter->is_retired = false;
	if (!is_wanted(counter, allo_segment_maker(segment, at))) {
		counter->is_foreign = is_resized;
		if (lives_on)
			counter->heap->blocks.unknown_frees++;
		else if (!is_retired)
			take_unknown(counter, counter->log->recording->is_packed);
		return true;
	}
	if (!lives_on && !is_retired) {
		counter->events++;
		counter->heap->blocks.frees++;
	}
	if (lives_on && find_other(counter, made)) {
		counter->has_birth = true;
		counter->birth_ns = birth_of(counter, made);
	}
	return end_block(counter, segment, at, made, ns, lives_on, err);
}

static bool take_segment(struct counter *counter, size_t index, uint32_t count,
			 struct allo_error *err)
{
	const struct allo_log_segment *segment = &counter->log->segments.at[index];
	struct allo_log_reader reader = allo_log_reader_at(segment, 0);
	uint32_t first = (uint32_t)(index * ALLO_SEGMENT_CHANGES);

	for (uint32_t i = 0; i < count; i++) {
		bool ok;

		allo_log_reader_advance(&reader, i);
		if (!take_asides(counter, first + i, UINT64_MAX, err) ||
		    !begin_at(counter, reader.ns, err))
			return false;
		ok = allo_log_bit(segment->ended, i)
			     ? take_ended(counter, segment, i,
					  allo_log_made_number(segment, first, i), reader.ns, err)
			     : take_made(counter, segment, i, first + i, reader.ns, err);
		if (!ok)
			return false;
	}
	return true;
}

/* The end of the window. */

/* Adds the lifetimes of live blocks, and lists their births. */
static bool take_live(struct counter *counter, uint64_t end_ns, struct allo_error *err)
{
	ALLO_VEC(struct allo_log_birth_place) births = { 0 };
	bool ok = true;

	for (uint32_t i = 0; ok && allo_live_changes_next(&counter->live, &i); i++) {
		const struct allo_log_segment *segment =
			&counter->log->segments.at[i / ALLO_SEGMENT_CHANGES];
		uint32_t at = i % ALLO_SEGMENT_CHANGES, class = segment->refs[at];
		uint64_t birth_ns = birth_of(counter, i);
		uint32_t site = site_of(counter, segment->class_sites[class],
					allo_segment_stream(segment, at), err);

		ok = site != UINT32_MAX;
		if (!ok)
			break;
		allo_heap_count_live(counter->heap, site,
				     allo_log_size(counter->log, segment->class_sizes[class]),
				     birth_ns, end_ns);
		if (counter->options->wants_births)
			ok = allo_vec_add(&births,
					  ((struct allo_log_birth_place){ site, birth_ns }), err);
	}
	if (ok && counter->options->wants_births)
		ok = allo_log_set_births(counter->log, counter->heap, births.at, births.len, err);
	allo_vec_done(&births);
	return ok;
}

static bool take_all(struct counter *counter, struct allo_error *err)
{
	const struct allo_change_log *log = counter->log;
	uint64_t to_ns = counter->options->window.to_ns;
	struct allo_log_place to;

	if (log->segments.len > 0) {
		to = allo_log_end(log, to_ns);
		if (!allo_live_changes_init(&counter->live, to, err))
			return false;
		counter->from_number = allo_log_number(
			allo_log_find(log, counter->options->window.from_ns));
		for (size_t i = 0; i <= to.segment; i++) {
			if (!take_segment(counter, i,
					  i == to.segment ? to.at : log->segments.at[i].shape.count,
					  err))
				return false;
		}
	}
	return take_asides(counter, UINT32_MAX, to_ns > 0 ? to_ns : UINT64_MAX, err);
}

static bool begin(struct counter *counter, struct allo_error *err)
{
	struct allo_heap *heap = counter->heap;

	if (!allo_heap_init(heap, counter->log->recording, err))
		return false;
	counter->watch_ns = heap->blocks.watch_ns;
	/* Births take the place of the table. */
	free(heap->blocks.table.at);
	free(heap->blocks.table.passed);
	heap->blocks.table = (struct allo_block_table){ 0 };
	heap->own.by_thread = counter->options->by_thread;
	if (counter->options->timeline) {
		counter->options->timeline->from_ns = counter->options->window.from_ns;
		counter->options->timeline->weighing = heap->blocks.weighing;
	}
	if (allo_heap_wants_keys(counter->log->recording, counter->options)) {
		heap->ids = calloc(1, sizeof(*heap->ids));
		if (!heap->ids)
			return allo_fail_memory(err);
		heap->ids->by_thread = counter->options->by_thread;
	}
	return true;
}

static bool end_timeline(const struct counter *counter, uint64_t end_ns, struct allo_error *err)
{
	struct allo_timeline *timeline = counter->options->timeline;
	uint64_t last_ns = allo_log_last_before(counter->log, counter->options->window.to_ns);

	return (last_ns < timeline->from_ns || allo_timeline_pass(timeline, last_ns, err)) &&
	       allo_timeline_end(timeline, end_ns, err);
}

bool allo_log_replay(const struct allo_change_log *log, const struct allo_heap_options *options,
		     uint64_t end_ns, struct allo_heap *heap, uint64_t *event_count,
		     struct allo_error *err)
{
	ALLO_DEFER(counter_done)
	struct counter counter = { .log = log,
				   .options = options,
				   .heap = heap,
				   .has_begun = options->window.from_ns == 0 };

	if (!begin(&counter, err) || !take_all(&counter, err))
		return false;
	if (!counter.has_begun && !begin_at(&counter, UINT64_MAX - 1, err))
		return false;
	if (!take_live(&counter, end_ns, err))
		return false;
	allo_heap_end_stacks(heap);
	*event_count = counter.events;
	return !options->timeline || end_timeline(&counter, end_ns, err);
}
