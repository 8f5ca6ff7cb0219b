/* change_log_stored.c - checks each array of the bytes before the log refers to it. */
#include "view/log/change_log_stored.h"

#include "base/defer.h"
#include "base/io/zstd_frame.h"
#include "replay/packed/stored_index.h"

#include <stdlib.h>

/* Bytes that are left to read. */
struct rest {
	const char *at;
	size_t len;
};

/* The next `count` items of a size, or NULL. */
static const char *take(struct rest *rest, uint64_t count, size_t size)
{
	const char *at = rest->at;

	if (count > rest->len / size)
		return NULL;
	rest->at += count * size;
	rest->len -= (size_t)count * size;
	return at;
}

/* Appends the next items to a vec; false if there are none, or when memory is short. */
#define TAKE_ALL(rest, vec, count, err)                                                            \
	(take_into((rest), (count), sizeof(*(vec)->at), &items) &&                                 \
	 ((count) == 0 || allo_vec_append((vec), items, (size_t)(count)) ||                        \
	  allo_fail_memory(err)))

static bool take_into(struct rest *rest, uint64_t count, size_t size, const void **items)
{
	*items = take(rest, count, size);
	return *items != NULL;
}

/* Segments. */

static bool is_shape_sound(const struct allo_log_shape *shape)
{
	const uint32_t columns[] = { shape->classes, shape->imports, shape->inherited,
				     shape->times };

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (columns[i] > shape->count)
			return false;
	}
	return shape->count > 0 && shape->count <= ALLO_SEGMENT_CHANGES &&
	       shape->import_births <= shape->imports && shape->streams > 0 &&
	       shape->streams <= ALLO_SEGMENT_CHANGES && shape->sums > 0 &&
	       shape->sums <= 2 * ALLO_SEGMENT_CHANGES;
}

static bool set_segment(struct allo_change_log *log, const struct allo_stored_segment *stored,
			struct rest *sums, struct allo_error *err)
{
	struct allo_log_segment *segment = allo_vec_push(&log->segments);
	const char *items;

	if (!segment)
		return allo_fail_memory(err);
	*segment = (struct allo_log_segment){ .shape = stored->shape };
#define SET(name) segment->name = (__typeof__(segment->name))stored->name;
	ALLO_STORED_SEGMENT(SET)
#undef SET
	items = take(sums, stored->shape.sums, sizeof(*segment->sums));
	if (!is_shape_sound(&stored->shape) || !items || segment->max_after > stored->shape.count ||
	    segment->made > stored->shape.count)
		return false;
	segment->sums = calloc(stored->shape.sums, sizeof(*segment->sums));
	if (!segment->sums)
		return allo_fail_memory(err);
	memcpy(segment->sums, items, stored->shape.sums * sizeof(*segment->sums));
	for (uint32_t i = 0; i < stored->shape.sums; i++) {
		if (segment->sums[i].site >= log->sites.len)
			return false;
	}
	log->change_count += stored->shape.count;
	log->bytes += stored->shape.sums * sizeof(*segment->sums);
	return true;
}

/* Whether a segment follows the one before it. */
static bool is_in_order(const struct allo_change_log *log, size_t index)
{
	const struct allo_log_segment *segment = &log->segments.at[index];

	return segment->first_ns <= segment->last_ns &&
	       segment->last_ns - segment->first_ns <=
		       (segment->shape.has_wide_times ? UINT64_MAX : UINT32_MAX) &&
	       (index == 0 || segment[-1].last_ns <= segment->first_ns);
}

static bool set_segments(struct allo_change_log *log, const struct allo_stored_log *head,
			 const char *stored, const char *sums, struct rest *frames,
			 struct allo_error *err)
{
	struct rest sums_left = { sums, (size_t)head->sums * sizeof(struct allo_log_sum) };

	for (size_t i = 0; i < head->segments; i++) {
		struct allo_stored_segment segment;
		const char *packed;

		memcpy(&segment, stored + i * sizeof(segment), sizeof(segment));
		packed = take(frames, segment.packed_bytes, 1);
		if (!set_segment(log, &segment, &sums_left, err) || !is_in_order(log, i) || !packed)
			return false;
		log->segments.at[i].packed = (struct allo_text){ packed,
								 (size_t)segment.packed_bytes };
	}
	return frames->len == 0;
}

/* States. */

static bool set_state(struct allo_change_log *log, const struct allo_stored_state *stored,
		      struct rest *bytes, struct rest *blocks, struct allo_error *err)
{
	size_t count = stored->site_count;
	const char *live_bytes = take(bytes, count, sizeof(uint64_t));
	const char *live_blocks = take(blocks, count, sizeof(uint32_t));
	struct allo_log_state *state;

	if (!live_bytes || !live_blocks || count > log->sites.len ||
	    stored->segment > log->segments.len)
		return false;
	state = allo_log_add_state(log, stored->segment, count, err);
	if (!state)
		return false;
	memcpy(state->bytes, live_bytes, count * sizeof(*state->bytes));
	memcpy(state->blocks, live_blocks, count * sizeof(*state->blocks));
	return true;
}

static bool set_states(struct allo_change_log *log, const struct allo_stored_log *head,
		       const char *stored, struct rest bytes, struct rest blocks,
		       struct allo_error *err)
{
	for (size_t i = 0; i < head->states; i++) {
		struct allo_stored_state state;

		memcpy(&state, stored + i * sizeof(state), sizeof(state));
		if (!set_state(log, &state, &bytes, &blocks, err) ||
		    (i == 0 ? state.segment > 0 : state.segment <= log->states.at[i - 1].segment))
			return false;
	}
	return head->states > 0 || head->segments == 0;
}

/* Tables. */

static bool are_asides_sound(const struct allo_change_log *log)
{
	const struct allo_recording *recording = log->recording;

	for (size_t i = 0; i < log->asides.len; i++) {
		const struct allo_log_aside *aside = &log->asides.at[i];
		const struct allo_site_key key = { .stack = aside->stack,
						   .stream = aside->stream,
						   .labels = aside->labels };

		if (aside->kind >= ALLO_ASIDE_KINDS || !allo_site_key_is_known(recording, &key) ||
		    aside->owner >= recording->streams.len || (i > 0 && aside->ns < aside[-1].ns))
			return false;
	}
	return true;
}

static bool are_tables_sound(const struct allo_change_log *log)
{
	const struct allo_recording *recording = log->recording;

	for (size_t i = 1; i < log->keys.at.len; i++) {
		if (!allo_site_key_is_known(recording, &log->keys.at.at[i]))
			return false;
	}
	for (size_t i = 0; i < log->sites.len; i++) {
		bool has_keys = allo_recording_has_labels(recording);

		if (log->sites.at[i] >= (has_keys ? log->keys.at.len : recording->nodes.len))
			return false;
	}
	for (size_t i = 0; i < log->marks.list.len; i++) {
		if (log->marks.list.at[i].stream >= recording->streams.len)
			return false;
	}
	return are_asides_sound(log);
}

static void set_head(struct allo_change_log *log, const struct allo_stored_log *head)
{
	log->weighing = allo_weighing_of(log->recording);
	log->keeps_first = head->keeps_first != 0;
	log->has_retired = head->has_retired != 0;
	log->is_walked = head->is_walked != 0 || allo_is_sampled(&log->weighing);
	log->event_count = head->event_count;
	log->last_ns = head->last_ns;
	log->end_ns = head->end_ns;
}

static bool read_all(struct allo_change_log *log, struct rest *rest, struct allo_error *err)
{
	struct allo_stored_log head;
	const char *at = take(rest, 1, sizeof(head)), *segments, *sums, *states, *bytes, *blocks;
	const void *items;

	if (!at)
		return false;
	memcpy(&head, at, sizeof(head));
	set_head(log, &head);
	segments = take(rest, head.segments, sizeof(struct allo_stored_segment));
	sums = take(rest, head.sums, sizeof(struct allo_log_sum));
	states = take(rest, head.states, sizeof(struct allo_stored_state));
	bytes = take(rest, head.state_sites, sizeof(uint64_t));
	blocks = take(rest, head.state_sites, sizeof(uint32_t));
	if (!segments || !sums || !states || !bytes || !blocks ||
	    !TAKE_ALL(rest, &log->asides, head.asides, err) ||
	    !TAKE_ALL(rest, &log->large_sizes, head.large_sizes, err) ||
	    !TAKE_ALL(rest, &log->keys.at, head.keys, err) ||
	    !TAKE_ALL(rest, &log->marks.list, head.marks, err) ||
	    !TAKE_ALL(rest, &log->sites, head.sites, err) || !are_tables_sound(log))
		return false;
	log->site_count = log->recording->nodes.len > log->keys.at.len ? log->recording->nodes.len
								       : log->keys.at.len;
	return set_segments(log, &head, segments, sums, rest, err) &&
	       set_states(log, &head, states, (struct rest){ bytes, (size_t)head.state_sites * 8 },
			  (struct rest){ blocks, (size_t)head.state_sites * 4 }, err);
}

bool allo_change_log_read(struct allo_change_log *log, const struct allo_recording *recording,
			  struct allo_text bytes, struct allo_error *err)
{
	struct rest rest = { bytes.data, bytes.len };

	*log = (struct allo_change_log){ .recording = recording };
	if (read_all(log, &rest, err))
		return true;
	allo_change_log_done(log);
	return false;
}

/* Indexes. */

/* An index is not asked about parts that are missing: replay counts them. */
static bool is_complete(const struct allo_recording *recording)
{
	const struct allo_gaps *gaps = &recording->gaps;

	return recording->stored_summary && gaps->damaged_pages == 0 && gaps->unread_pages == 0;
}

static bool load_index(struct allo_change_log *log, struct allo_recording *recording,
		       struct allo_error *err)
{
	allo_index_bytes bytes = { 0 };

	if (is_complete(recording) &&
	    allo_stored_index_load(recording, ALLO_LOG_VERSION, &bytes, err) &&
	    allo_change_log_read(log, recording, (struct allo_text){ bytes.at, bytes.len }, err)) {
		log->stored.at = bytes.at;
		log->stored.len = bytes.len;
		log->stored.cap = bytes.cap;
		return true;
	}
	allo_vec_done(&bytes);
	return false;
}

bool allo_change_log_load(struct allo_change_log *log, struct allo_recording *recording,
			  struct allo_error *err)
{
	if (!allo_recording_has_index(recording))
		return false;
	if (load_index(log, recording, err) && !log->keeps_first)
		return true;
	allo_change_log_done(log);
	recording->has_bad_index = !allo_failed(err);
	return false;
}

/* Columns. */

static bool are_classes_sound(const struct allo_change_log *log,
			      const struct allo_log_segment *segment)
{
	for (uint32_t i = 0; i < segment->shape.classes; i++) {
		uint32_t size = segment->class_sizes[i];

		if (segment->class_sites[i] >= log->sites.len ||
		    (size >= ALLO_LOG_LARGE && size - ALLO_LOG_LARGE >= log->large_sizes.len))
			return false;
	}
	return true;
}

/* Whether a number is that of a change in a segment up to this one. */
static bool is_number(const struct allo_change_log *log, size_t index, uint32_t number)
{
	size_t segment = number / ALLO_SEGMENT_CHANGES;

	return segment <= index &&
	       number % ALLO_SEGMENT_CHANGES < log->segments.at[segment].shape.count;
}

static bool are_imports_sound(const struct allo_change_log *log, size_t index)
{
	const struct allo_log_segment *segment = &log->segments.at[index];
	uint32_t births = 0;

	for (uint32_t i = 0; i < segment->shape.imports; i++) {
		uint32_t made = segment->import_made[i];

		births += made >= ALLO_LOG_INHERITS;
		if (segment->import_classes[i] >= segment->shape.classes ||
		    !is_number(log, index, made & ~ALLO_LOG_INHERITS) ||
		    (segment->import_makers && segment->import_makers[i] >= segment->shape.streams))
			return false;
	}
	return births == segment->shape.import_births;
}

static bool are_times_sound(const struct allo_log_segment *segment)
{
	for (uint32_t i = 0; i < segment->shape.times; i++) {
		if (segment->time_at[i] >= segment->shape.count ||
		    allo_segment_time(segment, i) > segment->last_ns ||
		    (i > 0 && (segment->time_at[i] <= segment->time_at[i - 1] ||
			       allo_segment_time(segment, i) < allo_segment_time(segment, i - 1))))
			return false;
	}
	return true;
}

static bool are_births_sound(const struct allo_change_log *log,
			     const struct allo_log_segment *segment)
{
	for (uint32_t i = 0; i < segment->shape.inherited; i++) {
		uint32_t at = segment->inherited_at[i], from = segment->inherited_from[i];

		if (at >= segment->shape.count || allo_log_bit(segment->ended, at) ||
		    (i > 0 && at <= segment->inherited_at[i - 1]) ||
		    (from != ALLO_LOG_NOWHERE && from >= log->sites.len))
			return false;
	}
	return true;
}

static bool are_streams_sound(const struct allo_change_log *log,
			      const struct allo_log_segment *segment)
{
	for (uint32_t i = 0; i < segment->shape.streams; i++) {
		if (segment->streams[i] >= log->recording->streams.len)
			return false;
	}
	for (uint32_t i = 0; i < segment->shape.count && segment->stream_width > 0; i++) {
		if (allo_segment_stream_index(segment, i) >= segment->shape.streams)
			return false;
	}
	return true;
}

/* Bits of changes beyond the last must not be set, since rows are found by counting bits. */
static bool has_clean_end(const struct allo_log_segment *segment)
{
	uint32_t last = (segment->shape.count - 1) / 64, used = segment->shape.count % 64;
	uint64_t beyond = used == 0 ? 0 : ~(uint64_t)0 << used;

	return ((segment->ended[last] | segment->imported[last]) & beyond) == 0;
}

static bool are_refs_sound(const struct allo_log_segment *segment)
{
	uint32_t rows = 0;

	for (uint32_t i = 0; i < segment->shape.count; i++) {
		uint32_t ref = segment->refs[i];
		bool is_ended = allo_log_bit(segment->ended, i);

		if (allo_log_bit(segment->imported, i) ? !is_ended || ref != rows++
		    : is_ended ? ref == 0 || ref > i || allo_log_bit(segment->ended, i - ref)
			       : ref >= segment->shape.classes)
			return false;
	}
	return rows == segment->shape.imports;
}

static bool is_sound(const struct allo_change_log *log, size_t index)
{
	const struct allo_log_segment *segment = &log->segments.at[index];

	return has_clean_end(segment) && are_refs_sound(segment) &&
	       are_classes_sound(log, segment) && are_imports_sound(log, index) &&
	       are_times_sound(segment) && are_births_sound(log, segment) &&
	       are_streams_sound(log, segment);
}

bool allo_log_fail_damaged(const struct allo_change_log *log, struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = log->recording->name },
			 "its stored change log is damaged");
}

static bool unpack(const struct allo_change_log *log, size_t index,
		   struct allo_zstd_unpacker *unpacker, struct allo_error *err)
{
	struct allo_log_segment *segment = &log->segments.at[index];

	if (!allo_log_segment_make_columns(segment))
		return allo_fail_memory(err);
	if (allo_zstd_unpack_frame(unpacker, segment->packed, segment->memory,
				   segment->memory_bytes) &&
	    is_sound(log, index))
		return true;
	free(segment->memory);
	segment->memory = NULL;
	return allo_log_fail_damaged(log, err);
}

static void free_unpacker(struct allo_zstd_unpacker **unpacker)
{
	allo_zstd_unpacker_free(*unpacker);
}

bool allo_log_need(const struct allo_change_log *log, size_t from, size_t to,
		   struct allo_error *err)
{
	ALLO_DEFER(free_unpacker) struct allo_zstd_unpacker *unpacker = NULL;

	for (size_t i = from; i <= to && i < log->segments.len; i++) {
		if (log->segments.at[i].memory)
			continue;
		if (!unpacker)
			unpacker = allo_zstd_unpacker_new();
		if (!unpacker)
			return allo_fail_memory(err);
		if (!unpack(log, i, unpacker, err))
			return false;
	}
	return true;
}
