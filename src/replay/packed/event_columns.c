/* event_columns.c - writes and reads columns of events. */
#include "replay/packed/event_columns.h"

#include "base/assert.h"
#include "base/huge_alloc.h"
#include "base/io/zstd_frame.h"
#include "replay/block_step.h"
#include "wire/varint.h"

#include <stdlib.h>
#include <zstd.h>

enum { SAMPLE = 1 << 14 }; /* bytes that are packed first, to choose a level */

enum {
	/* The lowest bits of a kind. */
	KIND_FREE,
	KIND_ALLOC,
	KIND_RESIZE,
	KIND_RESIZE_FAILED,
	KIND_RETIRE,
	KIND_LABELS,
	KIND_MARK,
	KIND_OWN,
	KIND_MASK = 7,

	KIND_STACK = 8,    /* the stack is as predicted */
	KIND_SIZE = 16,    /* the size is as predicted */
	KIND_ENDED = 32,   /* the stack of the block that ends is as predicted */
	KIND_UNKNOWN = 64, /* the block that ends is not known */

	ENDED_MORE = 255, /* a byte that refers to ENDED_LOW and ENDED_HIGH */

	/* Shorter times are a byte: an exponent and the two bits after the highest one.  Longer
	 * times are in units of 1024 ns. */
	LONG_TIME = 1 << 15,
	TIME_MORE = 255,
	LONG_TIME_SHIFT = 10,
};

/* Writer and reader learn the same from each event. */

static inline void learn_created(struct allo_column_state *state, uint32_t stack, uint64_t size)
{
	ALLO_ASSERT(stack < state->site_count);
	state->sites[state->stack].next = stack;
	state->sites[stack].size = size;
	state->sites[stack].blocks++;
	state->stack = stack;
}

static inline void learn_ended(struct allo_column_state *state, uint32_t stack, uint32_t number)
{
	ALLO_ASSERT(stack < state->site_count);
	state->sites[state->ended_stack].next_ended = stack;
	state->sites[stack].last_ended = number;
	state->ended_stack = stack;
}

bool allo_column_state_init(struct allo_column_state *state, size_t site_count,
			    struct allo_error *err)
{
	*state = (struct allo_column_state){ .site_count = site_count };
	/* Write all pages at once: pages that are read first would fault twice. */
	state->sites = allo_huge_alloc((site_count + 1) * sizeof(*state->sites));
	if (!state->sites)
		return allo_fail_memory(err);
	memset(state->sites, 0, (site_count + 1) * sizeof(*state->sites));
	return true;
}

void allo_column_state_done(struct allo_column_state *state)
{
	free(state->sites);
	*state = (struct allo_column_state){ 0 };
}

void allo_event_columns_done(struct allo_event_columns *columns)
{
	for (int c = 0; c < ALLO_COLUMNS; c++)
		allo_vec_done(&columns->column[c]);
	allo_vec_done(&columns->steps);
}

/* The most bytes that an event adds to a column. */
static size_t most_bytes(enum allo_event_column c)
{
	switch (c) {
	case ALLO_COLUMN_KINDS:
	case ALLO_COLUMN_ENDED:
	case ALLO_COLUMN_ENDED_LOW:
	case ALLO_COLUMN_TIMES:
	case ALLO_COLUMN_MODELLED: /* filled later, but never NULL */
	case ALLO_COLUMN_SURE_RUNS:
		return 1;
	case ALLO_COLUMN_SIZES:
	case ALLO_COLUMN_LONG_TIMES:
		return ALLO_VARINT_MAX;
	case ALLO_COLUMN_NOTES:
		return 5 + 5 + ALLO_VARINT_MAX;
	default:
		return 5; /* a varint of 32 bits */
	}
}

void allo_event_columns_begin(struct allo_event_columns *columns)
{
	columns->count = columns->last_time = columns->last_run = 0;
	columns->steps.len = 0;
	for (int c = 0; c < ALLO_COLUMNS; c++)
		columns->column[c].len = 0;
}

static bool make_room(struct allo_event_columns *columns, size_t events)
{
	if (columns->is_for_model &&
	    !allo_vec_reserve(&columns->steps, events * ALLO_MODEL_STEPS_MAX))
		return false;
	for (enum allo_event_column c = 0; c < ALLO_COLUMNS; c++) {
		if (!allo_vec_reserve(&columns->column[c], events * most_bytes(c)))
			return false;
	}
	return true;
}

/* Write positions while a span is added.  All users are inlined, so that it stays in registers:
 * stores of bytes may alias anything in memory. */
struct pen {
	uint8_t *at[ALLO_COLUMNS];
	struct allo_model_step *step; /* if a model will code the events */
	uint32_t count, last_time, last_run;
	uint32_t stream;         /* of the last event of this span; UINT32_MAX before the first */
	const uint32_t *threads; /* by stream */
};

static inline void put_byte(struct pen *pen, enum allo_event_column c, uint8_t byte)
{
	*pen->at[c]++ = byte;
}

static inline void put_number(struct pen *pen, enum allo_event_column c, uint64_t number)
{
	pen->at[c] = allo_varint_put(pen->at[c], number);
}

/* Writes the thread of an event, if it differs from the last one. */
static inline void put_thread(struct pen *pen, struct allo_column_state *state, uint32_t thread)
{
	if (thread == state->thread)
		return;
	put_number(pen, ALLO_COLUMN_RUN_GAPS, pen->count - pen->last_run);
	put_number(pen, ALLO_COLUMN_RUNS, thread);
	pen->last_run = pen->count;
	state->thread = thread;
}

/* Writes the time of an event, if it differs from the last one.  Rounding errors do not add up: the
 * next difference starts from the rounded time. */
static inline void put_time(struct pen *pen, struct allo_column_state *state, uint64_t ns)
{
	uint64_t since = ns - state->ns;
	unsigned shift;

	state->exact_ns = ns;
	if ((int64_t)since <= 0)
		return; /* the last time was rounded up beyond this one */
	put_number(pen, ALLO_COLUMN_TIME_GAPS, pen->count - pen->last_time);
	pen->last_time = pen->count;
	if (since >= LONG_TIME) {
		put_byte(pen, ALLO_COLUMN_TIMES, TIME_MORE);
		put_number(pen, ALLO_COLUMN_LONG_TIMES, since >> LONG_TIME_SHIFT);
		state->ns += since >> LONG_TIME_SHIFT << LONG_TIME_SHIFT;
		return;
	}
	shift = since < 8 ? 0 : 61 - (unsigned)__builtin_clzll(since);
	since += (uint64_t)1 << shift >> 1;
	/* Rounding may have added a bit. */
	shift += since >> shift > 7;
	put_byte(pen, ALLO_COLUMN_TIMES, (uint8_t)(shift * 4 + (since >> shift)));
	state->ns += since >> shift << shift;
}

/* Writes a new block; returns bits of the kind. */
static inline uint8_t put_created(struct pen *pen, struct allo_column_state *state, uint32_t stack,
				  uint64_t size)
{
	uint8_t bits = 0;

	if (state->sites[state->stack].next == stack)
		bits |= KIND_STACK;
	else
		put_number(pen, ALLO_COLUMN_STACKS, stack);
	if (state->sites[stack].size == size)
		bits |= KIND_SIZE;
	else
		put_number(pen, ALLO_COLUMN_SIZES, size);
	learn_created(state, stack, size);
	return bits;
}

static inline uint8_t put_ended(struct pen *pen, struct allo_column_state *state,
				const struct allo_outcome *ended)
{
	/* Usually it is the block that was allocated next. */
	uint32_t ahead = ended->number - state->sites[ended->stack].last_ended - 1;
	uint32_t code = ahead << 1 ^ (0 - (ahead >> 31));
	uint8_t bits = 0;

	if (state->sites[state->ended_stack].next_ended == ended->stack)
		bits |= KIND_ENDED;
	else
		put_number(pen, ALLO_COLUMN_ENDED_STACKS, ended->stack);
	if (code < ENDED_MORE) {
		put_byte(pen, ALLO_COLUMN_ENDED, (uint8_t)code);
	} else {
		put_byte(pen, ALLO_COLUMN_ENDED, ENDED_MORE);
		put_byte(pen, ALLO_COLUMN_ENDED_LOW, (uint8_t)code);
		put_number(pen, ALLO_COLUMN_ENDED_HIGH, code >> 8);
	}
	learn_ended(state, ended->stack, ended->number);
	return bits;
}

static inline void put_kind(struct pen *pen, uint8_t kind)
{
	put_byte(pen, ALLO_COLUMN_KINDS, kind);
	pen->count++;
}

/* Adds the steps of an event of the slow path, for a model. */
static inline void put_steps(struct pen *pen, const struct allo_event *event,
			     const struct allo_outcome *outcome)
{
	struct allo_event named = { .kind = event->kind, .size = event->size };
	uint64_t ended = outcome->flags & ALLO_OUTCOME_ENDED
				 ? allo_block_key(outcome->stack, outcome->number)
				 : 0;

	if (outcome->flags & ALLO_OUTCOME_CREATED) {
		named.stack = outcome->new_stack;
		named.old = ended;
	} else {
		named.pointer = ended;
	}
	pen->step = allo_model_put_event(pen->step, &named);
	pen->count++;
}

/* The fast paths, for a model. */

static inline void put_created_step(struct pen *pen, uint32_t stack, uint64_t size)
{
	pen->step = allo_model_put_created(pen->step, allo_model_symbol(ALLO_EVENT_ALLOC, stack),
					   size);
	pen->count++;
}

static inline void put_ended_step(struct pen *pen, enum allo_event_kind kind,
				  const struct allo_outcome *ended)
{
	*pen->step++ = (struct allo_model_step){ allo_model_symbol(kind, ended->stack),
						 ended->number };
	pen->count++;
}

static inline void put_event(struct pen *pen, struct allo_column_state *state,
			     const struct allo_event *event, const struct allo_outcome *outcome)
{
	static const uint8_t kinds[] = { KIND_ALLOC, KIND_FREE, KIND_RESIZE, KIND_RESIZE_FAILED };
	uint8_t kind = kinds[event->kind];

	if (event->kind != ALLO_EVENT_ALLOC)
		kind |= outcome->flags & ALLO_OUTCOME_ENDED ? put_ended(pen, state, outcome)
							    : KIND_UNKNOWN;
	if (outcome->flags & ALLO_OUTCOME_CREATED)
		kind |= put_created(pen, state, outcome->new_stack, event->size);
	put_kind(pen, kind);
}

/* Labels, marks and events of the program. */
static inline bool is_note(const struct allo_event *event)
{
	return event->kind >= ALLO_EVENT_LABELS;
}

static inline __attribute__((always_inline)) void put_note(struct pen *pen,
							   const struct allo_column_state *state,
							   const struct allo_event *event)
{
	if (event->kind == ALLO_EVENT_LABELS)
		put_number(pen, ALLO_COLUMN_LABELS, event->note);
	else
		put_number(pen, ALLO_COLUMN_NOTES, event->note);
	if (event->kind == ALLO_EVENT_OWN) {
		put_number(pen, ALLO_COLUMN_NOTES,
			   event->stack < state->site_count ? event->stack : 0);
		put_number(pen, ALLO_COLUMN_NOTES, event->size);
	}
}

/* Whether an event is stored.  An allocation that overflows the sum of bytes is not. */
static inline bool is_stored(const struct allo_event *event, const struct allo_outcome *outcome)
{
	return event->kind == ALLO_EVENT_FREE || event->kind == ALLO_EVENT_RESIZE_FAILED ||
	       outcome->flags & ALLO_OUTCOME_CREATED || is_note(event);
}

/* Writes thread and time of an event.  Call it before the rest of the event. */
static inline void put_thread_and_time(struct pen *pen, struct allo_column_state *state,
				       const struct allo_event *event)
{
	if (pen->stream != event->stream) {
		pen->stream = event->stream;
		put_thread(pen, state, pen->threads[event->stream]);
	}
	if (event->ns != state->exact_ns)
		put_time(pen, state, event->ns);
}

/* Writes an event that the fast paths do not handle. */
static inline void put_slowly(struct pen *pen, struct allo_column_state *state,
			      const struct allo_event *event, const struct allo_outcome *outcome,
			      const struct allo_outcome *retired, bool is_for_model)
{
	static const uint8_t notes[] = { KIND_LABELS, KIND_MARK, KIND_OWN };

	put_thread_and_time(pen, state, event);
	if (is_note(event))
		put_note(pen, state, event);
	if (is_for_model) {
		if (outcome->flags & ALLO_OUTCOME_RETIRED)
			put_ended_step(pen, ALLO_EVENT_RETIRE, retired);
		put_steps(pen, event, outcome);
	} else if (is_note(event)) {
		put_kind(pen, notes[event->kind - ALLO_EVENT_LABELS]);
	} else {
		if (outcome->flags & ALLO_OUTCOME_RETIRED)
			put_kind(pen, KIND_RETIRE | put_ended(pen, state, retired));
		put_event(pen, state, event, outcome);
	}
}

static inline __attribute__((always_inline)) bool put_span(struct allo_event_columns *columns,
							   struct allo_column_state *shared,
							   struct allo_live_blocks *blocks,
							   const struct allo_event_span *span,
							   bool is_for_model,
							   struct allo_error *err)
{
	bool are_plain = allo_blocks_are_plain(blocks);
	struct allo_column_state state = *shared;
	struct pen pen = { .count = columns->count,
			   .last_time = columns->last_time,
			   .last_run = columns->last_run,
			   .threads = columns->threads,
			   .stream = UINT32_MAX };
	struct allo_block_steps steps;

	if (!make_room(columns, 2 * span->count))
		return allo_fail_memory(err);
	for (int c = 0; c < ALLO_COLUMNS; c++)
		pen.at[c] = columns->column[c].at + columns->column[c].len;
	pen.step = is_for_model ? columns->steps.at + columns->steps.len : NULL;
	allo_block_steps_begin(&steps, blocks, span);
	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		struct allo_outcome outcome, retired, *next = &retired;

		if (are_plain && allo_block_step_alloc(&steps, i, &outcome)) {
			put_thread_and_time(&pen, &state, event);
			if (is_for_model)
				put_created_step(&pen, outcome.new_stack, event->size);
			else
				put_kind(&pen,
					 KIND_ALLOC | put_created(&pen, &state, outcome.new_stack,
								  event->size));
		} else if (are_plain && allo_block_step_free(&steps, i, &outcome)) {
			put_thread_and_time(&pen, &state, event);
			if (is_for_model)
				put_ended_step(&pen, ALLO_EVENT_FREE, &outcome);
			else
				put_kind(&pen, KIND_FREE | put_ended(&pen, &state, &outcome));
		} else if (!allo_block_step_slowly(&steps, i, &outcome, &next, err)) {
			return false;
		} else if (is_stored(event, &outcome)) {
			put_slowly(&pen, &state, event, &outcome, &retired, is_for_model);
		}
	}
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		columns->column[c].len = (size_t)(pen.at[c] - columns->column[c].at);
		ALLO_ASSERT(columns->column[c].len <= columns->column[c].cap);
	}
	if (is_for_model)
		columns->steps.len = (size_t)(pen.step - columns->steps.at);
	columns->count = pen.count;
	ALLO_ASSERT(is_for_model || columns->column[ALLO_COLUMN_KINDS].len == columns->count);
	ALLO_ASSERT(columns->steps.len <= columns->steps.cap);
	columns->last_time = pen.last_time;
	columns->last_run = pen.last_run;
	*shared = state;
	return true;
}

bool allo_event_columns_put(struct allo_event_columns *columns, struct allo_column_state *state,
			    struct allo_live_blocks *blocks, const struct allo_event_span *span,
			    struct allo_error *err)
{
	return columns->is_for_model ? put_span(columns, state, blocks, span, true, err)
				     : put_span(columns, state, blocks, span, false, err);
}

/* Packed columns: the lengths of all columns, and a zstd frame for each that is not empty. */
enum { LENGTHS_MAX = 2 * ALLO_COLUMNS * ALLO_VARINT_MAX };

size_t allo_event_columns_size(const struct allo_event_columns *columns)
{
	size_t size = 0;

	for (int c = 0; c < ALLO_COLUMNS; c++)
		size += columns->column[c].len;
	return size;
}

size_t allo_event_columns_bound(const struct allo_event_columns *columns)
{
	size_t bound = LENGTHS_MAX;

	for (int c = 0; c < ALLO_COLUMNS; c++)
		bound += ZSTD_compressBound(columns->column[c].len);
	return bound;
}

/* Chooses a zstd level by the result of packing a sample.  Nearly random data takes long at any
 * level and hardly shrinks.  Repetitive data is fast at any level, except for kinds, which are most
 * of the bytes.  Gaps and threads gain nothing from higher levels. */
static int level_for(enum allo_event_column c, size_t sample, size_t packed_sample)
{
	if (packed_sample > sample - sample / 64)
		return -1;
	if (packed_sample > sample / 3 || c == ALLO_COLUMN_TIME_GAPS || c == ALLO_COLUMN_RUN_GAPS ||
	    c == ALLO_COLUMN_RUNS)
		return 1;
	return c == ALLO_COLUMN_KINDS || packed_sample > sample / 16 ? 3 : 5;
}

static size_t pack_column(const struct allo_event_columns *columns, enum allo_event_column c,
			  ZSTD_CCtx *zstd, void *out, size_t room)
{
	const uint8_t *column = columns->column[c].at;
	size_t len = columns->column[c].len, sample = len < SAMPLE ? len : SAMPLE, made;

	if (len == 0)
		return 0;
	made = ZSTD_compressCCtx(zstd, out, room, column, sample, 1);
	if (ZSTD_isError(made))
		return made;
	return ZSTD_compressCCtx(zstd, out, room, column, len, level_for(c, sample, made));
}

size_t allo_event_columns_pack(const struct allo_event_columns *columns, ZSTD_CCtx *zstd,
			       void *packed, size_t room)
{
	uint8_t lengths[LENGTHS_MAX], *end = lengths, *out = packed;
	size_t used = 0, len;

	for (enum allo_event_column c = 0; c < ALLO_COLUMNS; c++) {
		size_t made = pack_column(columns, c, zstd, out + LENGTHS_MAX + used,
					  room - LENGTHS_MAX - used);

		if (ZSTD_isError(made))
			return 0;
		end = allo_varint_put(allo_varint_put(end, columns->column[c].len), made);
		used += made;
	}
	len = (size_t)(end - lengths);
	ALLO_ASSERT(len <= LENGTHS_MAX && LENGTHS_MAX + used <= room);
	memcpy(out, lengths, len);
	memmove(out + len, out + LENGTHS_MAX, used);
	return len + used;
}

/* Reading. */

static inline bool take_byte(struct allo_column_reader *reader, enum allo_event_column c,
			     uint8_t *byte)
{
	if (reader->at[c] == reader->end[c])
		return false;
	*byte = *reader->at[c]++;
	return true;
}

static inline bool take_number(struct allo_column_reader *reader, enum allo_event_column c,
			       uint64_t *number)
{
	const uint8_t *at = reader->at[c];

	if (at < reader->end[c] && *at < 0x80) {
		*number = *at;
		reader->at[c]++;
		return true;
	}
	return allo_varint_take(&reader->at[c], reader->end[c], number);
}

/* Reads a gap: the number of events until the next entry.  UINT64_MAX at the end of the column. */
static inline bool take_gap(struct allo_column_reader *reader, enum allo_event_column c,
			    uint64_t *gap)
{
	*gap = UINT64_MAX;
	return reader->at[c] == reader->end[c] || take_number(reader, c, gap);
}

/* Call it when `at` and `end` of all columns are set. */
static bool begin(struct allo_column_reader *reader, size_t events)
{
	size_t kinds = (size_t)(reader->end[ALLO_COLUMN_KINDS] - reader->at[ALLO_COLUMN_KINDS]);

	reader->left = events;
	reader->is_damaged = false;
	reader->is_modelled = reader->at[ALLO_COLUMN_MODELLED] < reader->end[ALLO_COLUMN_MODELLED];
	if (reader->is_modelled) {
		reader->coder = (struct allo_range_coder){
			.in = reader->at[ALLO_COLUMN_MODELLED],
			.in_end = reader->end[ALLO_COLUMN_MODELLED],
			.runs_in = reader->at[ALLO_COLUMN_SURE_RUNS],
			.runs_end = reader->end[ALLO_COLUMN_SURE_RUNS],
		};
		allo_range_begin_reading(&reader->coder);
	}
	/* Repeated and modelled events take almost no bytes, so their number has a limit. */
	return events <= ALLO_COLUMN_EVENTS_MAX && kinds == (reader->is_modelled ? 0 : events) &&
	       take_gap(reader, ALLO_COLUMN_TIME_GAPS, &reader->until_time) &&
	       take_gap(reader, ALLO_COLUMN_RUN_GAPS, &reader->until_run);
}

bool allo_event_columns_look(struct allo_column_reader *reader,
			     const struct allo_event_columns *columns)
{
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		size_t len = columns->column[c].len;

		reader->at[c] = columns->column[c].at;
		reader->end[c] = len > 0 ? reader->at[c] + len : reader->at[c];
	}
	return begin(reader, columns->count);
}

/* Unpacks the next column into *bytes, of which *left are free, and moves behind it. */
static bool unpack_column(struct allo_zstd_unpacker *unpacker, struct allo_text *packed,
			  uint64_t packed_len, uint64_t len, uint8_t **bytes, size_t *left)
{
	if (len > *left || packed_len > packed->len)
		return false;
	if (len > 0 && !allo_zstd_unpack_frame(
			       unpacker, (struct allo_text){ packed->data, (size_t)packed_len },
			       *bytes, (size_t)len))
		return false;
	*packed = allo_text_from(*packed, (size_t)packed_len);
	*bytes += len;
	*left -= (size_t)len;
	return true;
}

bool allo_event_columns_unpack(struct allo_column_reader *reader,
			       struct allo_zstd_unpacker *unpacker, size_t count, size_t events,
			       struct allo_text packed, uint8_t *bytes, size_t len)
{
	const uint8_t *at = (const uint8_t *)packed.data, *end = at + packed.len;
	uint64_t lengths[ALLO_COLUMNS] = { 0 }, packed_lengths[ALLO_COLUMNS] = { 0 };

	for (size_t c = 0; c < count; c++) {
		if (!allo_varint_take(&at, end, &lengths[c]) ||
		    !allo_varint_take(&at, end, &packed_lengths[c]))
			return false;
	}
	packed = (struct allo_text){ (const char *)at, (size_t)(end - at) };
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		reader->at[c] = bytes;
		if (!unpack_column(unpacker, &packed, packed_lengths[c], lengths[c], &bytes, &len))
			return false;
		reader->end[c] = bytes;
	}
	return len == 0 && begin(reader, events);
}

/* Reads the next thread. */
static bool take_thread(struct allo_column_reader *reader, struct allo_column_state *state,
			size_t threads)
{
	uint64_t thread;

	if (!take_number(reader, ALLO_COLUMN_RUNS, &thread) || thread >= threads ||
	    !take_gap(reader, ALLO_COLUMN_RUN_GAPS, &reader->until_run) || reader->until_run == 0)
		return false;
	state->thread = (uint32_t)thread;
	return true;
}

static inline bool take_time(struct allo_column_reader *reader, struct allo_column_state *state)
{
	uint8_t code;
	uint64_t since;
	unsigned shift;

	if (!take_byte(reader, ALLO_COLUMN_TIMES, &code))
		return false;
	if (code == TIME_MORE) {
		if (!take_number(reader, ALLO_COLUMN_LONG_TIMES, &since))
			return false;
		since <<= LONG_TIME_SHIFT;
	} else {
		shift = code < 8 ? 0 : code / 4 - 1;
		since = (uint64_t)(code - shift * 4) << shift;
	}
	state->ns += since;
	return take_gap(reader, ALLO_COLUMN_TIME_GAPS, &reader->until_time) &&
	       reader->until_time > 0;
}

/* Reads a stack, unless it is as predicted. */
static inline bool take_stack(struct allo_column_reader *reader, struct allo_column_state *state,
			      enum allo_event_column c, bool is_predicted, uint32_t *stack)
{
	uint64_t number;

	if (is_predicted)
		return true;
	if (!take_number(reader, c, &number) || number >= state->site_count)
		return false;
	*stack = (uint32_t)number;
	return true;
}

static inline bool take_created(struct allo_column_reader *reader, struct allo_column_state *state,
				uint8_t kind, struct allo_event *event)
{
	uint32_t stack = state->sites[state->stack].next;
	uint64_t size;

	if (!take_stack(reader, state, ALLO_COLUMN_STACKS, kind & KIND_STACK, &stack))
		return false;
	size = state->sites[stack].size;
	if (!(kind & KIND_SIZE) && !take_number(reader, ALLO_COLUMN_SIZES, &size))
		return false;
	learn_created(state, stack, size);
	event->stack = stack;
	event->size = size;
	event->pointer = allo_block_key(stack, state->sites[stack].blocks);
	return true;
}

static inline bool take_ended(struct allo_column_reader *reader, struct allo_column_state *state,
			      uint8_t kind, uint64_t *key)
{
	uint32_t stack = state->sites[state->ended_stack].next_ended, number;
	uint64_t code, high;
	uint8_t byte;

	*key = 0;
	if (kind & KIND_UNKNOWN)
		return true;
	if (!take_stack(reader, state, ALLO_COLUMN_ENDED_STACKS, kind & KIND_ENDED, &stack) ||
	    !take_byte(reader, ALLO_COLUMN_ENDED, &byte))
		return false;
	code = byte;
	if (byte == ENDED_MORE) {
		if (!take_byte(reader, ALLO_COLUMN_ENDED_LOW, &byte) ||
		    !take_number(reader, ALLO_COLUMN_ENDED_HIGH, &high))
			return false;
		code = high << 8 | byte;
	}
	number = (uint32_t)(state->sites[stack].last_ended + 1 + allo_unzigzag(code));
	learn_ended(state, stack, number);
	*key = allo_block_key(stack, number);
	return true;
}

/* Sets both fields at once: they share a byte. */
static inline void set_kind(struct allo_event *event, enum allo_event_kind kind)
{
	event->kind = kind;
	event->lasted = 0;
}

static bool take_note(struct allo_column_reader *reader, struct allo_column_state *state,
		      enum allo_event_kind kind, struct allo_event *event)
{
	uint64_t stack = 0;

	set_kind(event, kind);
	event->pointer = 0;
	if (!take_number(reader, kind == ALLO_EVENT_LABELS ? ALLO_COLUMN_LABELS : ALLO_COLUMN_NOTES,
			 &event->note))
		return false;
	if (kind == ALLO_EVENT_OWN && (!take_number(reader, ALLO_COLUMN_NOTES, &stack) ||
				       !take_number(reader, ALLO_COLUMN_NOTES, &event->size)))
		return false;
	if (stack >= state->site_count)
		return false;
	event->stack = (uint32_t)stack;
	state->notes++;
	state->silent += kind == ALLO_EVENT_LABELS;
	return true;
}

static inline bool take_event(struct allo_column_reader *reader, struct allo_column_state *state,
			      struct allo_event *event)
{
	uint8_t kind;

	if (!take_byte(reader, ALLO_COLUMN_KINDS, &kind))
		return false;
	event->ns = state->ns;
	event->stream = state->thread & ALLO_STREAMS_MAX;
	event->old = event->size = 0;
	event->stack = 0;
	switch (kind & KIND_MASK) {
	case KIND_ALLOC:
		set_kind(event, ALLO_EVENT_ALLOC);
		return take_created(reader, state, kind, event);
	case KIND_FREE:
		set_kind(event, ALLO_EVENT_FREE);
		return take_ended(reader, state, kind, &event->pointer);
	case KIND_RESIZE:
		set_kind(event, ALLO_EVENT_RESIZE);
		return take_ended(reader, state, kind, &event->old) &&
		       take_created(reader, state, kind, event);
	case KIND_RESIZE_FAILED:
		set_kind(event, ALLO_EVENT_RESIZE_FAILED);
		return take_ended(reader, state, kind, &event->pointer);
	case KIND_RETIRE:
		set_kind(event, ALLO_EVENT_RETIRE);
		if (!take_ended(reader, state, kind, &event->pointer))
			return false;
		state->silent++;
		return true;
	case KIND_LABELS:
		return take_note(reader, state, ALLO_EVENT_LABELS, event);
	case KIND_MARK:
		return take_note(reader, state, ALLO_EVENT_MARK, event);
	default:
		return take_note(reader, state, ALLO_EVENT_OWN, event);
	}
}

/* Reads thread and time of an event. */
static inline bool take_thread_and_time(struct allo_column_reader *reader,
					struct allo_column_state *state, size_t threads)
{
	if ((reader->until_run == 0 && !take_thread(reader, state, threads)) ||
	    (reader->until_time == 0 && !take_time(reader, state)))
		return false;
	reader->until_time--;
	reader->until_run--;
	return true;
}

static size_t take_events(struct allo_column_reader *reader, struct allo_column_state *state,
			  struct allo_event *events, size_t wanted, size_t threads)
{
	size_t count = 0;

	while (count < wanted && take_thread_and_time(reader, state, threads) &&
	       take_event(reader, state, &events[count]))
		count++;
	return count;
}

/* Completes an event of a model: thread, time, and the fields of notes. */
static bool complete(struct allo_column_reader *reader, struct allo_column_state *state,
		     struct allo_event *event)
{
	event->ns = state->ns;
	event->stream = state->thread & ALLO_STREAMS_MAX;
	state->silent += event->kind == ALLO_EVENT_RETIRE;
	return event->kind < ALLO_EVENT_LABELS || take_note(reader, state, event->kind, event);
}

static size_t take_modelled(struct allo_column_reader *reader, struct allo_column_state *state,
			    struct allo_event *events, size_t wanted, size_t threads)
{
	size_t count = 0, most;

	most = allo_event_model_read(reader->model, &reader->coder, events, wanted);
	while (count < most && take_thread_and_time(reader, state, threads) &&
	       complete(reader, state, &events[count]))
		count++;
	return count;
}

size_t allo_event_columns_take(struct allo_column_reader *reader, struct allo_column_state *state,
			       struct allo_event *events, size_t room, size_t threads)
{
	size_t wanted = reader->left < room ? reader->left : room, count;

	ALLO_ASSERT(!reader->is_modelled || reader->model || reader->left == 0);
	if (wanted > 0)
		reader->is_damaged |= state->thread >= threads;
	if (reader->is_damaged)
		return 0;
	count = reader->is_modelled ? take_modelled(reader, state, events, wanted, threads)
				    : take_events(reader, state, events, wanted, threads);
	reader->is_damaged = count < wanted;
	ALLO_ASSERT(count <= wanted);
	for (int c = 0; c < ALLO_COLUMNS; c++)
		ALLO_ASSERT(reader->at[c] <= reader->end[c]);
	reader->left -= count;
	return count;
}
