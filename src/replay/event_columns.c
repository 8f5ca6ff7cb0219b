/* event_columns.c - see event_columns.h. */
#include "replay/event_columns.h"

#include "wire/varint.h"

#include <stdlib.h>
#include <zstd.h>

enum {
	/* The lowest bits of a kind; what a realloc or free that is known has ended follows. */
	KIND_FREE,
	KIND_ALLOC,
	KIND_RESIZE,
	KIND_RESIZE_FAILED,
	KIND_RETIRE,
	KIND_LABELS,
	KIND_MARK,
	KIND_OWN,
	KIND_WHAT = 7,

	KIND_STACK = 8,    /* as predicted */
	KIND_SIZE = 16,    /* the same */
	KIND_ENDED = 32,   /* the stack of the block that ends, the same */
	KIND_UNKNOWN = 64, /* the block that ends is not known */

	ENDED_MORE = 255, /* in a column of bytes: see those behind it */

	/* Times up to this one, exclusively, are a byte with the two bits that follow the highest
	 * one; others are to the microsecond. */
	LONG_TIME = 1 << 15,
	TIME_MORE = 255,
	LONG_TIME_SHIFT = 10,

	SAMPLE = 1 << 14, /* bytes that tell how well a column can be packed */
};

bool allo_column_state_init(struct allo_column_state *state, size_t site_count,
			    struct allo_error *err)
{
	*state = (struct allo_column_state){ .site_count = site_count };
	state->sites = calloc(site_count + 1, sizeof(*state->sites));
	return state->sites || allo_fail_memory(err);
}

void allo_column_state_done(struct allo_column_state *state)
{
	free(state->sites);
	*state = (struct allo_column_state){ 0 };
}

/* What both sides learn. */

static inline void learn_created(struct allo_column_state *state, uint32_t stack, uint64_t size)
{
	state->sites[state->stack].next = stack;
	state->sites[stack].size = size;
	state->sites[stack].blocks++;
	state->stack = stack;
}

static inline void learn_ended(struct allo_column_state *state, uint32_t stack, uint32_t number)
{
	state->sites[state->ended_stack].next_ended = stack;
	state->sites[stack].last_ended = number;
	state->ended_stack = stack;
}

/* Writing. */

void allo_columns_done(struct allo_columns *columns)
{
	for (int c = 0; c < ALLO_COLUMNS; c++)
		allo_vec_done(&columns->column[c]);
}

/* The most bytes that an event adds to a column. */
static size_t most_bytes(enum allo_event_column c)
{
	switch (c) {
	case ALLO_COLUMN_KINDS:
	case ALLO_COLUMN_ENDED:
	case ALLO_COLUMN_ENDED_LOW:
	case ALLO_COLUMN_TIMES:
		return 1;
	case ALLO_COLUMN_SIZES:
	case ALLO_COLUMN_LONG_TIMES:
		return ALLO_VARINT_MAX;
	case ALLO_COLUMN_NOTES:
		return 5 + 5 + ALLO_VARINT_MAX;
	default:
		return 5; /* of 32 bits */
	}
}

void allo_columns_begin(struct allo_columns *columns)
{
	columns->count = columns->last_time = columns->last_run = 0;
	for (int c = 0; c < ALLO_COLUMNS; c++)
		columns->column[c].len = 0;
}

static bool make_room(struct allo_columns *columns, size_t events)
{
	for (enum allo_event_column c = 0; c < ALLO_COLUMNS; c++) {
		if (!allo_vec_reserve(&columns->column[c], events * most_bytes(c)))
			return false;
	}
	return true;
}

/* Columns while a span is put into them.  All that is done with it is inlined, so that it need not
 * be in memory: bytes that are written might be anywhere there. */
struct pen {
	uint8_t *at[ALLO_COLUMNS];
	uint32_t count, last_time, last_run;
};

static inline void put_byte(struct pen *pen, enum allo_event_column c, uint8_t byte)
{
	*pen->at[c]++ = byte;
}

static inline void put_number(struct pen *pen, enum allo_event_column c, uint64_t number)
{
	pen->at[c] = allo_varint_put(pen->at[c], number);
}

/* The thread of an event, if it is another one. */
static inline void put_thread(struct pen *pen, struct allo_column_state *state, uint32_t thread)
{
	if (thread == state->thread)
		return;
	put_number(pen, ALLO_COLUMN_RUN_GAPS, pen->count - pen->last_run);
	put_number(pen, ALLO_COLUMN_RUNS, thread);
	pen->last_run = pen->count;
	state->thread = thread;
}

/* The time of an event, if it is another one.  Rounding is not summed up: the next time is counted
 * from what the reader knows. */
static inline void put_time(struct pen *pen, struct allo_column_state *state, uint64_t ns)
{
	uint64_t since = ns - state->ns;
	unsigned shift;

	state->told_ns = ns;
	if ((int64_t)since <= 0)
		return; /* it was rounded up to later than this */
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
	/* Rounding up may have made it one bit longer. */
	shift += since >> shift > 7;
	put_byte(pen, ALLO_COLUMN_TIMES, (uint8_t)(shift * 4 + (since >> shift)));
	state->ns += since >> shift << shift;
}

/* Bits for the kind. */
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
	/* Mostly it is the next one that was allocated. */
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
	put_byte(pen, ALLO_COLUMN_KINDS, kind);
	pen->count++;
}

static inline void put_retired(struct pen *pen, struct allo_column_state *state,
			       const struct allo_outcome *retired)
{
	put_byte(pen, ALLO_COLUMN_KINDS, KIND_RETIRE | put_ended(pen, state, retired));
	pen->count++;
}

/* What the program says of itself. */
static inline bool is_note(const struct allo_event *event)
{
	return event->kind >= ALLO_EVENT_LABELS;
}

static inline __attribute__((always_inline)) void put_note(struct pen *pen,
							   const struct allo_column_state *state,
							   const struct allo_event *event)
{
	static const uint8_t kinds[] = { KIND_LABELS, KIND_MARK, KIND_OWN };

	put_byte(pen, ALLO_COLUMN_KINDS, kinds[event->kind - ALLO_EVENT_LABELS]);
	if (event->kind == ALLO_EVENT_LABELS)
		put_number(pen, ALLO_COLUMN_LABELS, event->note);
	else
		put_number(pen, ALLO_COLUMN_NOTES, event->note);
	if (event->kind == ALLO_EVENT_OWN) {
		put_number(pen, ALLO_COLUMN_NOTES,
			   event->stack < state->site_count ? event->stack : 0);
		put_number(pen, ALLO_COLUMN_NOTES, event->size);
	}
	pen->count++;
}

/* Whether an event has happened: a block whose size cannot be counted has not. */
static inline bool has_happened(const struct allo_event *event, const struct allo_outcome *outcome)
{
	return event->kind == ALLO_EVENT_FREE || event->kind == ALLO_EVENT_RESIZE_FAILED ||
	       outcome->flags & ALLO_OUTCOME_CREATED;
}

bool allo_columns_put(struct allo_columns *columns, struct allo_column_state *shared,
		      const struct allo_event_span *span, const struct allo_outcomes *outcomes,
		      struct allo_error *err)
{
	const struct allo_outcome *retired = outcomes->retired;
	struct allo_column_state state = *shared;
	struct pen pen = { .count = columns->count,
			   .last_time = columns->last_time,
			   .last_run = columns->last_run };

	uint32_t last_stream = UINT32_MAX; /* none */

	if (!make_room(columns, 2 * span->count))
		return allo_fail_memory(err);
	for (int c = 0; c < ALLO_COLUMNS; c++)
		pen.at[c] = columns->column[c].at + columns->column[c].len;
	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		const struct allo_outcome *outcome = &outcomes->at[i];

		if (!has_happened(event, outcome) && !is_note(event))
			continue;
		if (last_stream != event->stream) {
			last_stream = event->stream;
			put_thread(&pen, &state, columns->threads[last_stream]);
		}
		if (event->ns != state.told_ns)
			put_time(&pen, &state, event->ns);
		if (__builtin_expect(is_note(event), 0)) {
			put_note(&pen, &state, event);
			continue;
		}
		if (outcome->flags & ALLO_OUTCOME_RETIRED)
			put_retired(&pen, &state, retired++);
		put_event(&pen, &state, event, outcome);
	}
	for (int c = 0; c < ALLO_COLUMNS; c++)
		columns->column[c].len = (size_t)(pen.at[c] - columns->column[c].at);
	columns->count = pen.count;
	columns->last_time = pen.last_time;
	columns->last_run = pen.last_run;
	*shared = state;
	return true;
}

/* Packed: the columns' lengths, and a zstd frame for each that is not empty. */
enum { LENGTHS_MAX = 2 * ALLO_COLUMNS * ALLO_VARINT_MAX };

size_t allo_columns_size(const struct allo_columns *columns)
{
	size_t size = 0;

	for (int c = 0; c < ALLO_COLUMNS; c++)
		size += columns->column[c].len;
	return size;
}

size_t allo_columns_bound(const struct allo_columns *columns)
{
	size_t bound = LENGTHS_MAX;

	for (int c = 0; c < ALLO_COLUMNS; c++)
		bound += ZSTD_compressBound(columns->column[c].len);
	return bound;
}

/* What is as good as random takes long, and no level makes it much smaller; what repeats itself is
 * soon packed at any level, but for kinds, which are most of the bytes. */
static int level_for(enum allo_event_column c, size_t sample, size_t packed_sample)
{
	if (packed_sample > sample / 2)
		return 1;
	return c == ALLO_COLUMN_KINDS || packed_sample > sample / 16 ? 3 : 5;
}

static size_t pack_column(const struct allo_columns *columns, enum allo_event_column c,
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

size_t allo_columns_pack(const struct allo_columns *columns, ZSTD_CCtx *zstd, void *packed,
			 size_t room)
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

/* Events until the next one of a column of gaps; none follows where it is at its end. */
static bool take_gap(struct allo_column_reader *reader, enum allo_event_column c, uint64_t *gap)
{
	*gap = UINT64_MAX;
	return reader->at[c] == reader->end[c] || take_number(reader, c, gap);
}

bool allo_columns_unpack(struct allo_column_reader *reader, ZSTD_DCtx *zstd, size_t count,
			 struct allo_text packed, uint8_t *bytes, size_t len)
{
	const uint8_t *at = (const uint8_t *)packed.data, *end = at + packed.len;
	uint64_t lengths[ALLO_COLUMNS] = { 0 }, packed_lengths[ALLO_COLUMNS] = { 0 };

	for (size_t c = 0; c < count; c++) {
		if (!allo_varint_take(&at, end, &lengths[c]) ||
		    !allo_varint_take(&at, end, &packed_lengths[c]))
			return false;
	}
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		if (lengths[c] > len || packed_lengths[c] > (uint64_t)(end - at) ||
		    (lengths[c] > 0 && ZSTD_decompressDCtx(zstd, bytes, lengths[c], at,
							   packed_lengths[c]) != lengths[c]))
			return false;
		reader->at[c] = bytes;
		bytes += lengths[c];
		len -= lengths[c];
		reader->end[c] = bytes;
		at += packed_lengths[c];
	}
	reader->is_damaged = false;
	return len == 0 && take_gap(reader, ALLO_COLUMN_TIME_GAPS, &reader->until_time) &&
	       take_gap(reader, ALLO_COLUMN_RUN_GAPS, &reader->until_run);
}

/* Goes on to the next thread. */
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

static bool take_time(struct allo_column_reader *reader, struct allo_column_state *state)
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

/* A stack that is as predicted, or is written. */
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

static bool take_note(struct allo_column_reader *reader, struct allo_column_state *state,
		      enum allo_event_kind kind, struct allo_event *event)
{
	uint64_t stack = 0;

	event->kind = kind;
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
	switch (kind & KIND_WHAT) {
	case KIND_ALLOC:
		event->kind = ALLO_EVENT_ALLOC;
		return take_created(reader, state, kind, event);
	case KIND_FREE:
		event->kind = ALLO_EVENT_FREE;
		return take_ended(reader, state, kind, &event->pointer);
	case KIND_RESIZE:
		event->kind = ALLO_EVENT_RESIZE;
		return take_ended(reader, state, kind, &event->old) &&
		       take_created(reader, state, kind, event);
	case KIND_RESIZE_FAILED:
		event->kind = ALLO_EVENT_RESIZE_FAILED;
		return take_ended(reader, state, kind, &event->pointer);
	case KIND_RETIRE:
		event->kind = ALLO_EVENT_RETIRE;
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

size_t allo_columns_take(struct allo_column_reader *reader, struct allo_column_state *state,
			 struct allo_event *events, size_t room, size_t threads)
{
	size_t count = 0;

	if (allo_columns_left(reader) > 0)
		reader->is_damaged |= state->thread >= threads;
	while (count < room && !reader->is_damaged && allo_columns_left(reader) > 0) {
		if ((reader->until_run == 0 && !take_thread(reader, state, threads)) ||
		    (reader->until_time == 0 && !take_time(reader, state)) ||
		    !take_event(reader, state, &events[count])) {
			reader->is_damaged = true;
			break;
		}
		reader->until_time--;
		reader->until_run--;
		count++;
	}
	return count;
}
