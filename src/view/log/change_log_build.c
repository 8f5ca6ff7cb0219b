/*
 * change_log_build.c - turns the events of a recording into a log of changes.
 *
 * replay/live_blocks.h finds the block that an event ends.  Blocks are numbered by the change that
 * made them, so that an end can refer to it.
 */
#include "base/defer.h"
#include "base/huge_alloc.h"
#include "base/trust.h"
#include "replay/block_step.h"
#include "view/log/open_segment.h"

#include <stdlib.h>

enum {
	TALLIES_AHEAD = ALLO_STEPS_AHEAD / 2,
	EVENT_CHANGES = 3, /* at most: a realloc at an address that is not yet free */
};

/* Numbers of changes are below ALLO_LOG_INHERITS. */
enum { MOST_SEGMENTS = (1 << 15) - 1 };

/* Limit of the log in bytes, against packed files of hostile origin. */
static const uint64_t log_least = (uint64_t)1 << 30, log_ratio = 1000;

/* Sums of times up to this length, over a segment, fit 63 bits. */
static const uint64_t span_most = (uint64_t)1 << 46;

struct stream_stamp {
	uint32_t segment, index; /* number of the segment, from 1; index in its streams */
};

struct allo_log_builder {
	struct allo_change_log *log;
	struct allo_recording *recording;
	const struct allo_progress *progress;
	struct allo_heap heap; /* only its live blocks and its numbers of sites */
	struct allo_open_segment *open;
	struct allo_site_tally *tallies; /* by site */
	size_t tally_count;
	ALLO_VEC(uint32_t) touched;    /* sites with changes in the open segment */
	ALLO_VEC(uint64_t) live_bytes; /* by site in the log, before the open segment */
	ALLO_VEC(uint32_t) live_blocks;
	struct stream_stamp *stamps; /* by stream */
	struct allo_stream_labels labels;
	const struct allo_event *recorded; /* the events of the span, before sites replace stacks */
	bool is_threaded;                  /* there are several streams */
	bool has_missing;                  /* some of their stacks are not in the recording */
	size_t sums;                       /* since the last state */
	uint32_t first;                    /* number of the first change of the open segment */
	uint32_t next_number;              /* of the next change, plus 1 */
	uint64_t now_ns;
	/* Of the log without the open segment, while it has a copy of that. */
	struct {
		bool has_copy;
		size_t states, sums;
		uint64_t bytes;
	} before;
};

static void builder_done(struct allo_log_builder *builder)
{
	allo_heap_done(&builder->heap);
	free(builder->open);
	free(builder->tallies);
	free(builder->stamps);
	allo_vec_done(&builder->touched);
	allo_vec_done(&builder->live_bytes);
	allo_vec_done(&builder->live_blocks);
	allo_stream_labels_done(&builder->labels);
}

/* Segments. */

/* Saves what each site holds, once the sums since the last state are as many: finding the state at
 * any time then takes at most twice as long as copying it, and states are smaller than sums. */
static bool add_state(struct allo_log_builder *builder, struct allo_error *err)
{
	size_t count = builder->live_bytes.len;
	struct allo_change_log *log = builder->log;
	struct allo_log_state *state;

	if (log->states.len > 0 && builder->sums < count)
		return true;
	state = allo_log_add_state(log, (uint32_t)log->segments.len, count, err);
	if (!state)
		return false;
	if (count > 0) {
		memcpy(state->bytes, builder->live_bytes.at, count * sizeof(*state->bytes));
		memcpy(state->blocks, builder->live_blocks.at, count * sizeof(*state->blocks));
	}
	builder->sums = 0;
	return true;
}

static void put_sums(const struct allo_log_builder *builder, struct allo_log_segment *segment)
{
	for (size_t i = 0; i < builder->touched.len; i++) {
		const struct allo_site_tally *tally = &builder->tallies[builder->touched.at[i]];

		segment->sums[i] = (struct allo_log_sum){ .site = tally->site - 1,
							  .made = tally->made,
							  .blocks = tally->blocks,
							  .temporary = tally->temporary,
							  .alloc_bytes = tally->alloc_bytes,
							  .bytes = tally->bytes,
							  .life = tally->life,
							  .max_bytes = tally->max_bytes,
							  .max_blocks = tally->max_blocks };
	}
}

static void add_live(struct allo_log_builder *builder)
{
	for (size_t i = 0; i < builder->touched.len; i++) {
		const struct allo_site_tally *tally = &builder->tallies[builder->touched.at[i]];

		builder->live_bytes.at[tally->site - 1] += (uint64_t)tally->bytes;
		builder->live_blocks.at[tally->site - 1] += (uint32_t)tally->blocks;
	}
}

static bool check_limits(const struct allo_log_builder *builder, struct allo_error *err)
{
	const struct allo_change_log *log = builder->log;
	const struct allo_recording *recording = builder->recording;
	struct allo_pos pos = { .file = recording->name };

	if (log->segments.len >= MOST_SEGMENTS)
		return allo_fail(err, ALLO_LIMIT, pos, "has more than %llu changes of the heap",
				 (unsigned long long)log->change_count);
	if (allo_change_log_bytes(log) >
	    allo_trust_limit(recording->source.stored, log_ratio, log_least))
		return allo_fail_limit(err, pos, "needs more than %llu bytes for its changes",
				       (unsigned long long)allo_change_log_bytes(log));
	return true;
}

/* Whether the sums of a segment may not fit 64 bits. */
static bool is_long(const struct allo_open_segment *open)
{
	return open->now_ns - open->first_ns >= span_most ||
	       (open->shape.inherited > 0 && open->first_ns >= span_most);
}

/* Adds the open segment to the log. */
static bool copy_open(struct allo_log_builder *builder, struct allo_error *err)
{
	struct allo_change_log *log = builder->log;
	const struct allo_open_segment *open = builder->open;
	struct allo_log_segment *segment;

	if (!check_limits(builder, err) || !add_state(builder, err))
		return false;
	segment = allo_vec_push(&log->segments);
	if (!segment)
		return allo_fail_memory(err);
	if (!allo_open_segment_seal(open, (uint32_t)builder->touched.len, segment)) {
		log->segments.len--;
		return allo_fail_memory(err);
	}
	put_sums(builder, segment);
	log->is_walked |= is_long(open);
	log->bytes += segment->memory_bytes + segment->shape.sums * sizeof(*segment->sums);
	log->change_count += open->shape.count;
	return true;
}

static bool seal(struct allo_log_builder *builder, struct allo_error *err)
{
	struct allo_change_log *log = builder->log;

	if (builder->open->shape.count == 0)
		return true;
	if (!copy_open(builder, err))
		return false;
	add_live(builder);
	builder->sums += builder->touched.len;
	builder->touched.len = 0;
	builder->first = (uint32_t)(log->segments.len * ALLO_SEGMENT_CHANGES);
	builder->next_number = builder->first + 1;
	allo_open_segment_begin(builder->open, (uint32_t)log->segments.len + 1);
	if (builder->progress)
		builder->progress->tell(builder->progress->context, log->change_count,
					builder->recording->chunk_events);
	return true;
}

/* Lets the log have all changes, although more will come into the open segment. */
static bool show_open(struct allo_log_builder *builder, struct allo_error *err)
{
	builder->before.states = builder->log->states.len;
	builder->before.sums = builder->sums;
	builder->before.bytes = builder->log->bytes;
	builder->before.has_copy = builder->open->shape.count > 0 && copy_open(builder, err);
	return !allo_failed(err);
}

/* Takes the copy of the open segment out of the log again. */
static void hide_open(struct allo_log_builder *builder)
{
	struct allo_change_log *log = builder->log;
	struct allo_log_segment *last;

	if (!builder->before.has_copy)
		return;
	last = &log->segments.at[--log->segments.len];
	log->change_count -= last->shape.count;
	allo_log_segment_done(last);
	while (log->states.len > builder->before.states)
		free(log->states.at[--log->states.len].bytes);
	builder->sums = builder->before.sums;
	log->bytes = builder->before.bytes;
	builder->before.has_copy = false;
}

/* Changes. */

/* Starts the sums of a site in the open segment. */
static __attribute__((noinline)) bool touch(struct allo_log_builder *builder, uint32_t site,
					    struct allo_error *err)
{
	struct allo_site_tally *tally = &builder->tallies[site];
	uint32_t number = tally->site;

	if (number == 0) {
		if (!allo_vec_add(&builder->log->sites, site, err) ||
		    !allo_vec_add(&builder->live_bytes, 0, err) ||
		    !allo_vec_add(&builder->live_blocks, 0, err))
			return false;
		number = (uint32_t)builder->log->sites.len;
	}
	*tally = (struct allo_site_tally){ .segment = builder->open->number,
					   .site = number,
					   .last_class = ALLO_NO_CLASS };
	return allo_vec_add(&builder->touched, site, err);
}

static inline struct allo_site_tally *tally_of(struct allo_log_builder *builder, uint32_t site,
					       struct allo_error *err)
{
	struct allo_site_tally *tally = &builder->tallies[site];

	ALLO_ASSERT(site < builder->tally_count);
	if (__builtin_expect(tally->segment != builder->open->number, 0) &&
	    !touch(builder, site, err))
		return NULL;
	return tally;
}

/* A size that does not fit the column.  Such sizes are rare, so only equal ones in a row are
 * stored once. */
static __attribute__((noinline)) bool add_large(struct allo_change_log *log, uint64_t size,
						uint32_t *code, struct allo_error *err)
{
	size_t count = log->large_sizes.len;

	if (count == 0 || log->large_sizes.at[count - 1] != size) {
		if (!allo_vec_add(&log->large_sizes, size, err))
			return false;
		count++;
		log->bytes += sizeof(size);
	}
	*code = ALLO_LOG_LARGE + (uint32_t)(count - 1);
	return true;
}

static inline bool class_of(struct allo_log_builder *builder, struct allo_site_tally *tally,
			    uint64_t size, uint16_t *class, struct allo_error *err)
{
	uint32_t code = (uint32_t)size;

	if (__builtin_expect(size >= ALLO_LOG_LARGE, 0) &&
	    !add_large(builder->log, size, &code, err))
		return false;
	/* Most sites allocate one size. */
	if (tally->last_size != code || tally->last_class == ALLO_NO_CLASS) {
		tally->last_class = allo_open_segment_class(builder->open, tally->site - 1, code);
		tally->last_size = code;
	}
	*class = (uint16_t)tally->last_class;
	return true;
}

/* Begins a segment or a page. */
static __attribute__((noinline)) void begin_page(struct allo_open_segment *open, uint64_t ns)
{
	if (open->shape.count == 0)
		open->first_ns = open->now_ns = ns;
	open->pages[open->shape.count / ALLO_PAGE_CHANGES] = (struct allo_log_page){
		.bytes = open->bytes,
		.blocks = open->blocks,
		.max_bytes = open->bytes,
		.max_blocks = open->blocks,
		.min_bytes = open->bytes
	};
}

/* The index of a stream among those of the open segment. */
static uint32_t stream_index(struct allo_log_builder *builder, uint32_t stream)
{
	struct allo_open_segment *open = builder->open;
	struct stream_stamp *stamp = &builder->stamps[stream];

	if (stamp->segment != open->number) {
		open->stream_list[open->streams] = stream;
		*stamp = (struct stream_stamp){ open->number, open->streams++ };
	}
	return stamp->index;
}

static __attribute__((noinline)) void set_stream(struct allo_log_builder *builder, uint32_t stream)
{
	builder->open->last_index = stream_index(builder, stream);
	builder->open->last_stream = stream;
}

/* The thread that made the block of a change, by its number. */
static uint32_t maker_of(const struct allo_log_builder *builder, uint32_t made)
{
	const struct allo_open_segment *open = builder->open;

	if (made >= builder->first)
		return open->stream_list[open->stream_indexes[made - builder->first]];
	return allo_segment_stream(&builder->log->segments.at[made / ALLO_SEGMENT_CHANGES],
				   made % ALLO_SEGMENT_CHANGES);
}

/* Begins a change and returns its position.  The segment has room for it. */
static inline uint32_t begin_change(struct allo_log_builder *builder, uint64_t ns, uint32_t stream)
{
	struct allo_open_segment *open = builder->open;
	uint32_t at = open->shape.count;

	ALLO_ASSERT(at < ALLO_SEGMENT_CHANGES);
	if (at % ALLO_PAGE_CHANGES == 0)
		begin_page(open, ns);
	if (ns != open->now_ns) {
		open->time_at[open->shape.times] = (uint16_t)at;
		open->times[open->shape.times++] = ns - open->first_ns;
		open->now_ns = ns;
	}
	if (__builtin_expect(stream != open->last_stream, 0))
		set_stream(builder, stream);
	open->stream_indexes[at] = (uint16_t)open->last_index;
	open->shape.count = at + 1;
	builder->next_number = builder->first + at + 2;
	return at;
}

static inline void set_bit(uint64_t *bits, uint32_t at, bool is_set)
{
	bits[at / 64] |= (uint64_t)is_set << at % 64;
}

/* Counts a new block in the totals of the segment. */
static inline void count_made(struct allo_open_segment *open, uint32_t at, uint64_t size)
{
	struct allo_log_page *page = &open->pages[at / ALLO_PAGE_CHANGES];

	open->bytes += size;
	open->blocks++;
	page->made++;
	page->alloc_bytes += size;
	if (open->blocks > page->max_blocks)
		page->max_blocks = open->blocks;
	if (open->bytes > page->max_bytes) {
		page->max_bytes = open->bytes;
		if (open->bytes > open->max_bytes) {
			open->max_bytes = open->bytes;
			open->max_blocks = open->blocks;
			open->max_after = at + 1;
		}
	}
}

/* Adds a new block.  `birth_ns` is its own time, unless it inherits that of another block. */
static inline bool put_made(struct allo_log_builder *builder, const struct allo_event *event,
			    uint32_t site, uint64_t ns, uint64_t birth_ns, struct allo_error *err)
{
	struct allo_open_segment *open = builder->open;
	struct allo_site_tally *tally = tally_of(builder, site, err);
	uint16_t class;
	bool is_more;
	uint32_t at;

	if (!tally || !class_of(builder, tally, event->size, &class, err))
		return false;
	at = begin_change(builder, ns, event->stream);
	open->refs[at] = class;
	tally->made++;
	tally->alloc_bytes += event->size;
	tally->bytes += (int64_t)event->size;
	tally->blocks++;
	allo_tally_add_life(&tally->life, open->first_ns - birth_ns);
	is_more = (tally->made == 1) | (tally->bytes > tally->max_bytes) |
		  ((tally->bytes == tally->max_bytes) & (tally->blocks > tally->max_blocks));
	tally->max_bytes = is_more ? tally->bytes : tally->max_bytes;
	tally->max_blocks = is_more ? tally->blocks : tally->max_blocks;
	count_made(open, at, event->size);
	return true;
}

/* Refers to the block that ends at a position. */
static inline bool refer(struct allo_log_builder *builder, struct allo_site_tally *tally,
			 uint32_t at, const struct allo_outcome *ended, struct allo_error *err)
{
	struct allo_open_segment *open = builder->open;
	uint32_t inherits = ended->number & ALLO_LOG_INHERITS;
	uint32_t made = (ended->number & ~ALLO_LOG_INHERITS) - 1, row;

	if (made >= builder->first && !inherits) {
		open->refs[at] = (uint16_t)(at - (made - builder->first));
		return true;
	}
	row = open->shape.imports++;
	open->refs[at] = (uint16_t)row;
	open->import_made[row] = made | inherits;
	if (inherits)
		open->import_births[open->shape.import_births++] = ended->birth_ns;
	if (builder->is_threaded)
		open->import_makers[row] = (uint16_t)stream_index(builder, maker_of(builder, made));
	set_bit(open->imported, at, true);
	return class_of(builder, tally, ended->size, &open->import_classes[row], err);
}

static inline bool put_ended(struct allo_log_builder *builder, const struct allo_event *event,
			     const struct allo_outcome *ended, uint64_t ns, bool lives_on,
			     struct allo_error *err)
{
	struct allo_open_segment *open = builder->open;
	struct allo_site_tally *tally = tally_of(builder, ended->stack, err);
	bool is_temporary = (ended->flags & ALLO_OUTCOME_TEMPORARY) != 0;
	struct allo_log_page *page;
	uint32_t at;

	if (!tally)
		return false;
	at = begin_change(builder, ns, event->stream);
	page = &open->pages[at / ALLO_PAGE_CHANGES];
	set_bit(open->ended, at, true);
	set_bit(open->temporary, at, is_temporary);
	tally->bytes -= (int64_t)ended->size;
	tally->blocks--;
	tally->temporary += is_temporary;
	allo_tally_add_life(&tally->life, lives_on ? 0 : ns - open->first_ns);
	open->bytes -= ended->size;
	open->blocks--;
	page->temporary += is_temporary;
	if (open->bytes < page->min_bytes)
		page->min_bytes = open->bytes;
	return refer(builder, tally, at, ended, err);
}

/* Events that are not just one change. */

static bool put_aside(struct allo_log_builder *builder, const struct allo_event *event, uint64_t ns,
		      enum allo_log_aside_kind kind, struct allo_error *err)
{
	struct allo_log_aside aside = {
		.ns = ns, .number = builder->next_number - 1, .stream = event->stream, .kind = kind
	};

	if (kind == ALLO_ASIDE_OWN) {
		aside.units = event->size;
		aside.stack = event->stack;
		aside.note = (uint32_t)event->note;
		aside.labels = allo_stream_labels_of(&builder->labels, event->stream);
	}
	return allo_vec_add(&builder->log->asides, aside, err);
}

static bool put_late(struct allo_log_builder *builder, const struct allo_event *event, uint64_t ns,
		     enum allo_log_aside_kind kind, const struct allo_outcome *ended,
		     struct allo_error *err)
{
	if (!put_aside(builder, event, ns, kind, err))
		return false;
	builder->log->asides.at[builder->log->asides.len - 1].owner = maker_of(
		builder, (ended->number & ~ALLO_LOG_INHERITS) - 1);
	return true;
}

static bool put_free(struct allo_log_builder *builder, const struct allo_event *event, uint64_t ns,
		     const struct allo_outcome *outcome, struct allo_error *err)
{
	if (!(outcome->flags & ALLO_OUTCOME_ENDED))
		return put_aside(builder, event, ns, ALLO_ASIDE_UNKNOWN_FREE, err);
	if (outcome->flags & ALLO_OUTCOME_LATE)
		return put_late(builder, event, ns, ALLO_ASIDE_LATE_FREE, outcome, err);
	return put_ended(builder, event, outcome, ns, false, err);
}

static bool put_retired(struct allo_log_builder *builder, const struct allo_event *event,
			uint64_t ns, const struct allo_outcome *ended, struct allo_error *err)
{
	builder->log->has_retired = true;
	return put_aside(builder, event, ns, ALLO_ASIDE_RETIRED, err) &&
	       put_ended(builder, event, ended, ns, false, err);
}

/* The old block of a realloc. */
static bool put_old(struct allo_log_builder *builder, const struct allo_event *event, uint64_t ns,
		    const struct allo_outcome *outcome, struct allo_error *err)
{
	if (!(outcome->flags & ALLO_OUTCOME_ENDED))
		return put_aside(builder, event, ns, ALLO_ASIDE_UNKNOWN_OLD, err);
	if (outcome->flags & ALLO_OUTCOME_LATE)
		return put_late(builder, event, ns, ALLO_ASIDE_LATE_OLD, outcome, err);
	if (!put_ended(builder, event, outcome, ns, true, err))
		return false;
	builder->open->ended_by_resize++;
	set_bit(builder->open->resized, builder->open->shape.count - 1, true);
	return true;
}

/* The new block of a realloc has the birth of the old one. */
static bool inherit(struct allo_log_builder *builder, const struct allo_event *event,
		    const struct allo_outcome *outcome, struct allo_error *err)
{
	struct allo_open_segment *open = builder->open;
	bool is_late = (outcome->flags & ALLO_OUTCOME_LATE) != 0;
	uint32_t row = open->shape.inherited++;
	struct allo_site_tally *from;

	open->inherited_at[row] = (uint16_t)(open->shape.count - 1);
	open->inherited_births[row] = outcome->birth_ns;
	open->inherited_from[row] = ALLO_LOG_NOWHERE;
	allo_block_renumber(&builder->heap.blocks, event,
			    (builder->next_number - 1) | ALLO_LOG_INHERITS);
	if (is_late)
		return true;
	from = tally_of(builder, outcome->stack, err);
	if (!from)
		return false;
	open->inherited_from[row] = from->site - 1;
	allo_tally_add_life(&from->life, outcome->birth_ns - open->first_ns);
	return true;
}

/* The new block of an allocation or a realloc. */
static bool put_new(struct allo_log_builder *builder, const struct allo_event *event, uint64_t ns,
		    const struct allo_outcome *outcome, struct allo_error *err)
{
	bool is_resize = event->kind == ALLO_EVENT_RESIZE;
	/* It is chance whether a sampled recording has the old block: see live_blocks.c. */
	bool inherits = is_resize && outcome->flags & ALLO_OUTCOME_ENDED &&
			!allo_is_sampled(&builder->log->weighing);

	if (!put_made(builder, event, outcome->new_stack, ns, inherits ? outcome->birth_ns : ns,
		      err))
		return false;
	builder->open->resizes += is_resize;
	set_bit(builder->open->resized, builder->open->shape.count - 1, is_resize);
	if (inherits)
		return inherit(builder, event, outcome, err);
	allo_block_renumber(&builder->heap.blocks, event, builder->next_number - 1);
	return true;
}

/* An allocation or a realloc. */
static bool put_allocation(struct allo_log_builder *builder, const struct allo_event *event,
			   uint64_t ns, const struct allo_outcome *outcome,
			   const struct allo_outcome *retired, struct allo_error *err)
{
	if (!(outcome->flags & ALLO_OUTCOME_CREATED))
		return put_aside(builder, event, ns, ALLO_ASIDE_NOTHING, err);
	if (event->kind == ALLO_EVENT_RESIZE && !put_old(builder, event, ns, outcome, err))
		return false;
	if (outcome->flags & ALLO_OUTCOME_RETIRED && !put_retired(builder, event, ns, retired, err))
		return false;
	return put_new(builder, event, ns, outcome, err);
}

static bool put_event(struct allo_log_builder *builder, const struct allo_event *event, uint64_t ns,
		      const struct allo_outcome *outcome, const struct allo_outcome *retired,
		      struct allo_error *err)
{
	switch (event->kind) {
	case ALLO_EVENT_ALLOC:
	case ALLO_EVENT_RESIZE:
		return put_allocation(builder, event, ns, outcome, retired, err);
	case ALLO_EVENT_FREE:
		return put_free(builder, event, ns, outcome, err);
	case ALLO_EVENT_RESIZE_FAILED:
		return put_aside(builder, event, ns, ALLO_ASIDE_FAILED_RESIZE, err);
	case ALLO_EVENT_RETIRE:
		return !(outcome->flags & ALLO_OUTCOME_ENDED) ||
		       put_retired(builder, event, ns, outcome, err);
	case ALLO_EVENT_LABELS:
		return allo_stream_labels_take(&builder->labels, event, err);
	case ALLO_EVENT_MARK:
		return put_aside(builder, event, ns, ALLO_ASIDE_MARK, err) &&
		       (builder->recording->texts.len == 0 ||
			allo_marks_take(&builder->log->marks, &(struct allo_event_span){ event, 1 },
					err));
	case ALLO_EVENT_OWN:
		return put_aside(builder, event, ns, ALLO_ASIDE_OWN, err);
	}
	return true;
}

/* Reading. */

/* Replay would count other blocks in each window: see live_blocks.c. */
static bool check_total(const struct allo_log_builder *builder, struct allo_error *err)
{
	return builder->heap.blocks.overflows == 0 ||
	       allo_fail(err, ALLO_LIMIT, (struct allo_pos){ .file = builder->recording->name },
			 "allocates more than 2^64 bytes in all");
}

/* Replay counts an allocation without a stack, and even one without a block if it numbers sites. */
static bool is_missing(const struct allo_log_builder *builder, size_t i,
		       const struct allo_outcome *outcome)
{
	const struct allo_event *event = &builder->recorded[i];

	return (event->kind == ALLO_EVENT_ALLOC || event->kind == ALLO_EVENT_RESIZE) &&
	       event->stack >= builder->recording->nodes.len &&
	       (builder->heap.ids || outcome->flags & ALLO_OUTCOME_CREATED);
}

static __attribute__((noinline)) bool take_slowly(struct allo_log_builder *builder,
						  struct allo_block_steps *steps, size_t i,
						  uint64_t ns, struct allo_error *err)
{
	const struct allo_event *event = &steps->events[i];
	struct allo_outcome outcome = { 0 }, retired, *next = &retired;

	if (!allo_block_step_slowly(steps, i, &outcome, &next, err) || !check_total(builder, err))
		return false;
	if (is_missing(builder, i, &outcome) &&
	    !put_aside(builder, event, ns, ALLO_ASIDE_MISSING_STACK, err))
		return false;
	return put_event(builder, event, ns, &outcome, &retired, err);
}

/* Times never go back, not even in damaged recordings. */
static inline uint64_t time_of(struct allo_log_builder *builder, const struct allo_event *event)
{
	if (event->ns > builder->now_ns)
		builder->now_ns = event->ns;
	return builder->now_ns;
}

/* Whether there is no room for all changes of an event, or for their threads. */
static inline bool is_full(const struct allo_open_segment *open)
{
	return open->shape.count > ALLO_SEGMENT_CHANGES - EVENT_CHANGES ||
	       open->streams > ALLO_SEGMENT_CHANGES - 2 * EVENT_CHANGES;
}

static bool take_span(struct allo_log_builder *builder, const struct allo_event_span *span,
		      struct allo_error *err)
{
	bool are_plain = allo_blocks_are_plain(&builder->heap.blocks) && !builder->has_missing;
	struct allo_block_steps steps;

	allo_block_steps_begin(&steps, &builder->heap.blocks, span);
	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		struct allo_outcome created, ended;
		uint64_t ns = time_of(builder, event);
		bool ok;

		/* The changes of an event stay in one segment. */
		if (__builtin_expect(is_full(builder->open), 0) && !seal(builder, err))
			return false;
		__builtin_prefetch(
			&builder->tallies[allo_block_step_stack(&steps, i + TALLIES_AHEAD)], 1);
		if (are_plain && allo_block_step_alloc(&steps, i, &created))
			ok = put_made(builder, event, created.new_stack, ns, ns, err);
		else if (are_plain && allo_block_step_free(&steps, i, &ended))
			ok = put_ended(builder, event, &ended, ns, false, err);
		else
			ok = take_slowly(builder, &steps, i, ns, err);
		if (!ok)
			return false;
	}
	return true;
}

/* Makes room for the tallies of all sites. */
static bool cover_sites(struct allo_log_builder *builder, struct allo_error *err)
{
	size_t count = builder->heap.blocks.stack_count;
	struct allo_site_tally *tallies;

	if (count <= builder->tally_count)
		return true;
	tallies = count <= SIZE_MAX / sizeof(*tallies) ? allo_huge_alloc(count * sizeof(*tallies))
						       : NULL;
	if (!tallies)
		return allo_fail_memory(err);
	if (builder->tally_count > 0)
		memcpy(tallies, builder->tallies, builder->tally_count * sizeof(*tallies));
	memset(tallies + builder->tally_count, 0,
	       (count - builder->tally_count) * sizeof(*tallies));
	free(builder->tallies);
	builder->tallies = tallies;
	builder->tally_count = count;
	return true;
}

static bool number_sites(struct allo_log_builder *builder, struct allo_event_span *span,
			 struct allo_error *err)
{
	uint64_t missing = builder->heap.ids->missing;

	if (!allo_heap_number_sites(&builder->heap, span, builder->recording->nodes.len, err))
		return false;
	builder->has_missing = builder->heap.ids->missing > missing;
	return cover_sites(builder, err);
}

static bool read_events(struct allo_log_builder *builder, struct allo_events *events,
			struct allo_error *err)
{
	struct allo_event_span span;

	while (allo_events_next(events, &span, err)) {
		builder->recorded = span.events;
		if (builder->heap.ids && !number_sites(builder, &span, err))
			return false;
		if (!take_span(builder, &span, err))
			return false;
	}
	return !allo_failed(err);
}

static bool begin(struct allo_log_builder *builder, struct allo_error *err)
{
	struct allo_heap *heap = &builder->heap;
	struct allo_change_log *log = builder->log;

	if (!allo_heap_init(heap, builder->recording, err))
		return false;
	heap->blocks.keeps_first = log->keeps_first && !heap->weighed;
	heap->blocks.next_number = &builder->next_number;
	if (allo_recording_has_labels(builder->recording))
		heap->ids = calloc(1, sizeof(*heap->ids));
	builder->open = malloc(sizeof(*builder->open));
	builder->stamps = calloc(heap->blocks.stream_count, sizeof(*builder->stamps));
	if ((allo_recording_has_labels(builder->recording) && !heap->ids) || !builder->open ||
	    !builder->stamps)
		return allo_fail_memory(err);
	builder->open->bytes = builder->open->blocks = 0;
	allo_open_segment_begin(builder->open, 1);
	builder->next_number = 1;
	builder->is_threaded = heap->blocks.stream_count > 2;
	return cover_sites(builder, err);
}

/* Sets the facts about the whole recording. */
static void describe(struct allo_log_builder *builder, const struct allo_events *events)
{
	struct allo_change_log *log = builder->log;
	uint64_t duration = allo_recording_duration(builder->recording);

	/* A running program has allocated nothing since its last event. */
	if (events->follows && events->until_ns != UINT64_MAX && events->until_ns > duration)
		duration = events->until_ns;
	log->event_count = events->count;
	log->last_ns = builder->heap.blocks.last_ns;
	log->end_ns = duration > log->last_ns ? duration : log->last_ns;
	log->site_count = builder->heap.blocks.stack_count;
}

/* The log has the keys of sites, but while events are added. */
static void move_keys(struct allo_site_keys *from, struct allo_site_keys *to)
{
	*to = *from;
	*from = (struct allo_site_keys){ 0 };
}

static void set_up(struct allo_log_builder *builder)
{
	struct allo_change_log *log = builder->log;

	ALLO_ASSERT(log->segments.len == 0);
	log->recording = builder->recording;
	log->weighing = allo_weighing_of(builder->recording);
	log->is_walked = allo_is_sampled(&log->weighing);
}

bool allo_change_log_build(struct allo_change_log *log, struct allo_recording *recording,
			   const struct allo_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(builder_done)
	struct allo_log_builder builder = { .log = log,
					    .recording = recording,
					    .progress = progress };
	ALLO_DEFER(allo_events_close) struct allo_events events = { 0 };

	set_up(&builder);
	if (!begin(&builder, err) || !allo_events_open(&events, recording, err))
		return false;
	allo_events_read_ahead(&events);
	if (!read_events(&builder, &events, err) || !seal(&builder, err))
		return false;
	describe(&builder, &events);
	if (builder.heap.ids)
		move_keys(&builder.heap.ids->keys, &log->keys);
	return true;
}

/* Growing recordings. */

struct allo_log_builder *allo_log_builder_new(struct allo_change_log *log,
					      struct allo_recording *recording,
					      struct allo_error *err)
{
	struct allo_log_builder *builder = calloc(1, sizeof(*builder));

	if (!builder) {
		allo_fail_memory(err);
		return NULL;
	}
	builder->log = log;
	builder->recording = recording;
	set_up(builder);
	if (!begin(builder, err)) {
		allo_log_builder_free(builder);
		return NULL;
	}
	builder->is_threaded = true; /* sooner or later */
	return builder;
}

void allo_log_builder_free(struct allo_log_builder *builder)
{
	if (builder)
		builder_done(builder);
	free(builder);
}

/* Makes room for stacks and threads that the recording has gained. */
static bool grow(struct allo_log_builder *builder, size_t streams, struct allo_error *err)
{
	struct allo_heap *heap = &builder->heap;
	size_t before = heap->blocks.stream_count;
	struct stream_stamp *stamps;

	if (!allo_heap_grow(heap, builder->recording, streams, err))
		return false;
	stamps = reallocarray(builder->stamps, heap->blocks.stream_count, sizeof(*stamps));
	if (!stamps)
		return allo_fail_memory(err);
	memset(stamps + before, 0, (heap->blocks.stream_count - before) * sizeof(*stamps));
	builder->stamps = stamps;
	return cover_sites(builder, err);
}

bool allo_log_builder_step(struct allo_log_builder *builder, struct allo_events *events,
			   struct allo_error *err)
{
	struct allo_site_ids *ids = builder->heap.ids;

	hide_open(builder);
	if (ids)
		move_keys(&builder->log->keys, &ids->keys);
	if (!grow(builder, events->streams, err) || !read_events(builder, events, err) ||
	    !show_open(builder, err))
		return false;
	describe(builder, events);
	if (ids)
		move_keys(&ids->keys, &builder->log->keys);
	return true;
}
