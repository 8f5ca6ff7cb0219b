/* earlier.c - the content of checkpoints, and finding the last one. */
#include "replay/ring/earlier.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/io/zstd_frame.h"
#include "base/trust.h"

#include <stdlib.h>
#include <xxhash.h>

enum { VERSION = 1 };

/* Limit of the unpacked bytes: regular programs have blocks at regular addresses. */
static const uint64_t raw_ratio = 1000, raw_least = 256 << 20;

/* Centuries: later times may be added to these without an overflow. */
static const uint64_t most_ticks = (uint64_t)1 << 62;

void allo_earlier_free(struct allo_earlier *earlier)
{
	if (!earlier)
		return;
	for (size_t i = 0; i < earlier->starts.len; i++)
		free(earlier->starts.at[i].state);
	allo_vec_done(&earlier->sites);
	allo_vec_done(&earlier->own);
	allo_vec_done(&earlier->kept);
	allo_vec_done(&earlier->starts);
	allo_vec_done(&earlier->unseen);
	free(earlier);
}

/* Writing. */

/* Fails once: later numbers are dropped. */
struct sink {
	allo_earlier_bytes *bytes;
	bool is_short;
};

static void put(struct sink *sink, uint64_t number)
{
	if (sink->is_short || !allo_vec_reserve(sink->bytes, ALLO_VARINT_MAX)) {
		sink->is_short = true;
		return;
	}
	sink->bytes->len = (size_t)(allo_varint_put(sink->bytes->at + sink->bytes->len, number) -
				    sink->bytes->at);
}

static void put_bytes(struct sink *sink, const void *bytes, size_t len)
{
	sink->is_short = sink->is_short ||
			 !allo_vec_append(sink->bytes, (const uint8_t *)bytes, len);
}

/* A struct of 64-bit numbers. */
static void put_numbers(struct sink *sink, const void *numbers, size_t size)
{
	uint64_t number;

	for (size_t at = 0; at < size; at += sizeof(number)) {
		memcpy(&number, (const char *)numbers + at, sizeof(number));
		put(sink, number);
	}
}

static void put_kept(struct sink *sink, const struct allo_earlier *earlier)
{
	uint64_t ticks = 0, pointer = 0;

	put(sink, earlier->kept.len);
	for (size_t i = 0; i < earlier->kept.len; i++) {
		const struct allo_event *event = &earlier->kept.at[i];

		put(sink, event->kind);
		put(sink, event->ns - ticks);
		put(sink, event->stream);
		ticks = event->ns;
		if (event->kind != ALLO_EVENT_ALLOC) {
			put(sink, event->note);
			continue;
		}
		put(sink, allo_zigzag(event->pointer - pointer));
		put(sink, event->size);
		put(sink, event->stack);
		pointer = event->pointer;
	}
}

static bool is_empty(const struct allo_prediction *prediction)
{
	return prediction->stack == 0 && prediction->next_stack == 0 && prediction->size == 0;
}

static void put_predictions(struct sink *sink, const struct allo_prediction *predictions)
{
	size_t next = 0;

	for (size_t i = 0; i < ALLO_PREDICTIONS; i++) {
		if (is_empty(&predictions[i]))
			continue;
		put(sink, i - next + 1);
		put(sink, predictions[i].stack);
		put(sink, predictions[i].next_stack);
		put(sink, predictions[i].size);
		next = i + 1;
	}
	put(sink, 0);
}

/* Ticks and pointer are in the header of the page. */
static void put_state(struct sink *sink, const struct allo_decoder_state *state)
{
	put(sink, 1u + 2u * state->is_timed + 4u * state->is_resizing + 8u * state->is_lost);
	put(sink, state->resized);
	put(sink, state->resizing_ticks);
	put(sink, state->labels);
	put(sink, state->sent_labels);
	put(sink, state->events.stack);
	put_predictions(sink, state->events.predictions);
}

static void put_starts(struct sink *sink, const struct allo_earlier *earlier)
{
	put(sink, earlier->starts.len);
	for (size_t i = 0; i < earlier->starts.len; i++) {
		const struct allo_stream_start *start = &earlier->starts.at[i];

		put(sink, start->number);
		put(sink, start->thread);
		put_bytes(sink, start->name, sizeof(start->name));
		put(sink, start->dropped);
		put(sink, start->sequence);
		put(sink, start->events);
		put(sink, start->labels);
		if (start->state)
			put_state(sink, start->state);
		else
			put(sink, 0);
	}
	put(sink, earlier->unseen.len);
	for (size_t i = 0; i < earlier->unseen.len; i++)
		put(sink, earlier->unseen.at[i]);
}

bool allo_earlier_write(const struct allo_earlier *earlier, allo_earlier_bytes *bytes,
			struct allo_error *err)
{
	struct sink sink = { .bytes = bytes };

	put(&sink, VERSION);
	put_numbers(&sink, &earlier->totals, sizeof(earlier->totals));
	put(&sink, earlier->sites.len);
	put_numbers(&sink, earlier->sites.at, earlier->sites.len * sizeof(*earlier->sites.at));
	put(&sink, earlier->own.len);
	put_numbers(&sink, earlier->own.at, earlier->own.len * sizeof(*earlier->own.at));
	put_kept(&sink, earlier);
	put_starts(&sink, earlier);
	return !sink.is_short || allo_fail_memory(err);
}

/* Reading. */

struct text_reader {
	const uint8_t *at, *end;
	bool is_bad, is_short; /* damaged; out of memory */
};

static uint64_t take(struct text_reader *reader)
{
	uint64_t number = 0;

	if (reader->is_bad || !allo_varint_take(&reader->at, reader->end, &number)) {
		reader->is_bad = true;
		return 0;
	}
	return number;
}

/* A number that is at most `most`. */
static uint64_t take_up_to(struct text_reader *reader, uint64_t most)
{
	uint64_t number = take(reader);

	if (number <= most)
		return number;
	reader->is_bad = true;
	return 0;
}

/* The count of items of at least `least` bytes. */
static size_t take_count(struct text_reader *reader, size_t least)
{
	uint64_t count = take(reader);

	if (count <= (size_t)(reader->end - reader->at) / least)
		return (size_t)count;
	reader->is_bad = true;
	return 0;
}

static void take_numbers(struct text_reader *reader, void *numbers, size_t size)
{
	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		uint64_t number = take(reader);

		memcpy((char *)numbers + at, &number, sizeof(number));
	}
}

static void take_sites(struct text_reader *reader, struct allo_earlier *earlier)
{
	size_t size = sizeof(*earlier->sites.at), count = take_count(reader, size / 8);

	if (!allo_vec_cover(&earlier->sites, count))
		reader->is_short = true;
	else
		take_numbers(reader, earlier->sites.at, count * size);
	size = sizeof(*earlier->own.at);
	count = take_count(reader, size / 8);
	if (!allo_vec_cover(&earlier->own, count))
		reader->is_short = true;
	else
		take_numbers(reader, earlier->own.at, count * size);
}

static void take_kept(struct text_reader *reader, struct allo_earlier *earlier)
{
	size_t count = take_count(reader, 4);
	uint64_t ticks = 0, pointer = 0;

	if (!allo_vec_cover(&earlier->kept, count)) {
		reader->is_short = true;
		return;
	}
	for (size_t i = 0; i < count && !reader->is_bad; i++) {
		struct allo_event *event = &earlier->kept.at[i];
		uint64_t kind = take(reader);

		reader->is_bad |= kind != ALLO_EVENT_ALLOC && kind != ALLO_EVENT_MARK &&
				  kind != ALLO_EVENT_LABELS;
		event->kind = (enum allo_event_kind)(kind & 15);
		event->ns = ticks += take_up_to(reader, most_ticks - ticks);
		event->stream = (uint32_t)take_up_to(reader, ALLO_STREAMS_MAX) & ALLO_STREAMS_MAX;
		if (event->kind != ALLO_EVENT_ALLOC) {
			event->note = take_up_to(reader, UINT32_MAX);
			continue;
		}
		event->pointer = pointer += allo_unzigzag(take(reader));
		event->size = take(reader);
		event->stack = (uint32_t)take_up_to(reader, UINT32_MAX);
	}
}

static void take_predictions(struct text_reader *reader, struct allo_prediction *predictions)
{
	size_t next = 0, step;

	while ((step = (size_t)take_up_to(reader, ALLO_PREDICTIONS - next)) > 0) {
		next += step;
		predictions[next - 1] = (struct allo_prediction){
			(uint32_t)take_up_to(reader, UINT32_MAX),
			(uint32_t)take_up_to(reader, UINT32_MAX),
			(uint32_t)take_up_to(reader, UINT32_MAX),
		};
	}
}

static struct allo_decoder_state *take_state(struct text_reader *reader)
{
	uint64_t flags = take_up_to(reader, 15);
	struct allo_decoder_state *state;

	if ((flags & 1) == 0)
		return NULL;
	state = calloc(1, sizeof(*state));
	if (!state) {
		reader->is_short = reader->is_bad = true;
		return NULL;
	}
	state->is_timed = flags & 2;
	state->is_resizing = flags & 4;
	state->is_lost = flags & 8;
	state->resized = take(reader);
	state->resizing_ticks = take(reader);
	state->labels = (uint32_t)take_up_to(reader, UINT32_MAX);
	state->sent_labels = (uint32_t)take_up_to(reader, UINT32_MAX);
	state->events.stack = (uint32_t)take_up_to(reader, UINT32_MAX);
	take_predictions(reader, state->events.predictions);
	return state;
}

static void take_name(struct text_reader *reader, char name[16])
{
	if (reader->is_bad || reader->end - reader->at < 16) {
		reader->is_bad = true;
		return;
	}
	memcpy(name, reader->at, 16);
	reader->at += 16;
}

static void take_starts(struct text_reader *reader, struct allo_earlier *earlier)
{
	size_t count = take_count(reader, 20);
	uint32_t before = 0;

	if (!allo_vec_cover(&earlier->starts, count)) {
		reader->is_short = true;
		return;
	}
	for (size_t i = 0; i < count && !reader->is_bad; i++) {
		struct allo_stream_start *start = &earlier->starts.at[i];

		start->number = (uint32_t)take_up_to(reader, UINT32_MAX);
		reader->is_bad |= start->number <= before;
		before = start->number;
		start->thread = (uint32_t)take_up_to(reader, UINT32_MAX);
		take_name(reader, start->name);
		start->dropped = take(reader);
		start->sequence = take_up_to(reader, UINT32_MAX);
		start->events = take(reader);
		start->labels = (uint32_t)take_up_to(reader, UINT32_MAX);
		start->state = take_state(reader);
	}
	count = take_count(reader, 1);
	for (size_t i = 0; i < count && !reader->is_bad; i++) {
		uint32_t number = (uint32_t)take_up_to(reader, UINT32_MAX);

		reader->is_short |= !allo_vec_append(&earlier->unseen, &number, 1);
	}
}

/* Whether the parts agree with each other, as a replay assumes. */
static bool is_sound(const struct allo_earlier *earlier)
{
	const struct allo_earlier_totals *totals = &earlier->totals;
	uint64_t blocks = 0;

	for (size_t i = 0; i < earlier->kept.len; i++) {
		if (earlier->kept.at[i].stream >= earlier->starts.len)
			return false;
	}
	for (size_t i = 0; i < earlier->sites.len; i++) {
		if (__builtin_add_overflow(blocks, earlier->sites.at[i].blocks, &blocks) ||
		    earlier->sites.at[i].max_blocks > UINT32_MAX ||
		    earlier->sites.at[i].peak_blocks > UINT32_MAX)
			return false;
	}
	return blocks <= totals->allocations && totals->allocations < most_ticks &&
	       totals->exact_ticks <= most_ticks && totals->peak_ticks <= most_ticks;
}

struct allo_earlier *allo_earlier_read(struct allo_text bytes, struct allo_error *err)
{
	const uint8_t *start = (const uint8_t *)bytes.data;
	struct text_reader reader = { start, start + bytes.len, false, false };
	struct allo_earlier *earlier = calloc(1, sizeof(*earlier));

	if (!earlier) {
		allo_fail_memory(err);
		return NULL;
	}
	reader.is_bad = take(&reader) != VERSION;
	take_numbers(&reader, &earlier->totals, sizeof(earlier->totals));
	take_sites(&reader, earlier);
	take_kept(&reader, earlier);
	take_starts(&reader, earlier);
	if (!reader.is_bad && !reader.is_short && is_sound(earlier))
		return earlier;
	if (reader.is_short)
		allo_fail_memory(err);
	allo_earlier_free(earlier);
	return NULL;
}

/* Checkpoints. */

bool allo_earlier_number(const struct allo_recording *recording, uint64_t *number,
			 struct allo_error *err)
{
	size_t got;

	*number = 0;
	return allo_random_access_read(&recording->source,
				       offsetof(struct allo_wire_head, ring.checkpoints), number,
				       sizeof(*number), &got, err);
}

bool allo_earlier_is_replaced(const struct allo_recording *recording, struct allo_error *err)
{
	uint64_t number;

	return !recording->is_packed && recording->head.ring.size > 0 &&
	       allo_earlier_number(recording, &number, err) &&
	       number != (recording->earlier ? recording->earlier->number : 0);
}

bool allo_fail_summed(const struct allo_recording *recording, struct allo_error *err)
{
	allo_fail(err, ALLO_IO, (struct allo_pos){ .file = recording->name },
		  "the events that were to be read next have just been summed up");
	return allo_hint(err, "the recording is bounded and goes on: run the command again");
}

static bool read_checkpoint(struct allo_recording *recording, uint64_t at,
			    const struct allo_wire_checkpoint *head, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *packed = malloc((size_t)head->packed_len);
	ALLO_DEFER(allo_free_pointer) char *raw = malloc((size_t)head->raw_len);
	size_t got;

	if (!recording->unpacker)
		recording->unpacker = allo_zstd_unpacker_new();
	if (!packed || !raw || !recording->unpacker)
		return allo_fail_memory(err);
	if (!allo_random_access_read(&recording->source, at + sizeof(*head), packed,
				     (size_t)head->packed_len, &got, err) ||
	    got < head->packed_len || XXH64(packed, got, head->number) != head->hash ||
	    !allo_zstd_unpack_frame(recording->unpacker, (struct allo_text){ packed, got }, raw,
				    (size_t)head->raw_len))
		return false;
	recording->earlier = allo_earlier_read((struct allo_text){ raw, (size_t)head->raw_len },
					       err);
	return recording->earlier != NULL;
}

bool allo_earlier_load(struct allo_recording *recording, uint64_t number, struct allo_error *err)
{
	uint64_t area = (uint64_t)recording->head.ring.area_slots * ALLO_SLOT_SIZE;
	uint64_t at = ALLO_SLOT_SIZE + number % 2 * area;
	struct allo_wire_checkpoint head;
	size_t got;

	allo_earlier_free(recording->earlier);
	recording->earlier = NULL;
	if (number == 0)
		return true;
	if (!allo_random_access_read(&recording->source, at, &head, sizeof(head), &got, err) ||
	    got < sizeof(head) ||
	    memcmp(head.magic, ALLO_CHECKPOINT_MAGIC, sizeof(head.magic)) != 0 ||
	    head.number != number || head.packed_len == 0 || head.packed_len > area ||
	    head.packed_len > SIZE_MAX || head.raw_len == 0 || head.raw_len > SIZE_MAX ||
	    head.raw_len > allo_trust_limit(recording->source.stored, raw_ratio, raw_least) ||
	    !read_checkpoint(recording, at, &head, err))
		return false;
	recording->earlier->number = number;
	return true;
}

/* Streams. */

const struct allo_stream_start *allo_earlier_start(const struct allo_earlier *earlier,
						   uint32_t number)
{
	size_t low = 0, high = earlier ? earlier->starts.len : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (earlier->starts.at[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return earlier && low < earlier->starts.len && earlier->starts.at[low].number == number
		       ? &earlier->starts.at[low]
		       : NULL;
}

bool allo_earlier_covers(const struct allo_earlier *earlier, uint32_t stream, uint64_t sequence)
{
	const struct allo_stream_start *start = allo_earlier_start(earlier, stream);

	if (start || !earlier || stream > earlier->totals.last_stream)
		return start && sequence < start->sequence;
	for (size_t i = 0; i < earlier->unseen.len; i++) {
		if (earlier->unseen.at[i] == stream)
			return false;
	}
	return true;
}

static int compare_streams(const void *a, const void *b)
{
	const struct allo_stream *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static bool add_stream(struct allo_recording *recording, const struct allo_stream_start *start,
		       struct allo_error *err)
{
	struct allo_stream *stream = allo_vec_push(&recording->streams);

	if (!stream)
		return allo_fail_memory(err);
	*stream = (struct allo_stream){
		.number = start->number,
		.thread = start->thread,
		.kind = ALLO_STREAM_EVENTS,
		.dropped = start->dropped,
		.name = { start->name, strnlen(start->name, sizeof(start->name)) },
	};
	return true;
}

/* The index of a stream that exists. */
static size_t find_stream(const struct allo_recording *recording, uint32_t number)
{
	const struct allo_stream key = { .number = number };
	const struct allo_stream *found = bsearch(&key, recording->streams.at,
						  recording->streams.len,
						  sizeof(*recording->streams.at), compare_streams);

	ALLO_ASSERT(found);
	return (size_t)(found - recording->streams.at);
}

bool allo_earlier_add_streams(struct allo_recording *recording, struct allo_error *err)
{
	const struct allo_earlier *earlier = recording->earlier;
	size_t known = recording->streams.len, next = 0;

	for (size_t i = 0; i < earlier->starts.len; i++) {
		while (next < known &&
		       recording->streams.at[next].number < earlier->starts.at[i].number)
			next++;
		if (next < known &&
		    recording->streams.at[next].number == earlier->starts.at[i].number)
			continue;
		if (!add_stream(recording, &earlier->starts.at[i], err))
			return false;
	}
	if (recording->streams.len > known)
		qsort(recording->streams.at, recording->streams.len, sizeof(*recording->streams.at),
		      compare_streams);
	return true;
}

void allo_earlier_settle(struct allo_recording *recording)
{
	struct allo_tick_scale scale = allo_recording_scale(recording);
	struct allo_earlier *earlier = recording->earlier;

	earlier->exact_ns = allo_ticks_to_ns(scale, scale.first + earlier->totals.exact_ticks);
	earlier->peak_ns = allo_ticks_to_ns(scale, scale.first + earlier->totals.peak_ticks);
	for (size_t i = 0; i < earlier->kept.len; i++) {
		struct allo_event *event = &earlier->kept.at[i];
		uint32_t number = earlier->starts.at[event->stream].number;

		event->ns = allo_ticks_to_ns(scale, scale.first + event->ns);
		event->stream = (uint32_t)find_stream(recording, number) & ALLO_STREAMS_MAX;
		if (event->kind != ALLO_EVENT_ALLOC)
			allo_event_settle(event, recording);
	}
}
