/* recording.c - opening a recording: its head, its pieces, its streams. */
#include "replay/recording/recording.h"

#include "base/assert.h"
#include "profile/naming.h"
#include "replay/packed/packed_file.h"
#include "replay/recording/recording_internal.h"
#include "replay/ring/earlier.h"
#include "wire/allocator_state.h"
#include "wire/events.h"

#include <stdlib.h>

static struct allo_pos pos_at(const struct allo_recording *recording, uint64_t offset)
{
	return (struct allo_pos){ .file = recording->name, .byte = offset + 1 };
}

bool allo_recording_probe(struct allo_text head)
{
	return allo_text_starts(head, ALLO_TEXT(ALLO_HEAD_MAGIC)) || allo_is_packed(head);
}

/* The head. */

static bool check_head(const struct allo_recording *recording, size_t len, struct allo_error *err)
{
	const struct allo_wire_head *head = &recording->head;

	if (len < offsetof(struct allo_wire_head, arch))
		return true; /* too short to check */
	if (head->byte_order != ALLO_BYTE_ORDER)
		return allo_fail(err, ALLO_FORMAT, pos_at(recording, 8),
				 "was recorded on a machine of another byte order");
	if (head->version == 0 || head->version > ALLO_RATES_VERSION) {
		allo_fail(err, ALLO_FORMAT, pos_at(recording, 8),
			  "is a recording of version %u; this allo reads 1 to %d", head->version,
			  ALLO_RATES_VERSION);
		return allo_hint(err, "read it with the allo that recorded it, or a newer one");
	}
	if (head->slot_size != ALLO_SLOT_SIZE)
		return allo_fail(err, ALLO_FORMAT, pos_at(recording, 16),
				 "has slots of %u bytes instead of %d", head->slot_size,
				 ALLO_SLOT_SIZE);
	return true;
}

/* A text of the head, as far as the slot has it. */
static struct allo_text text_of(struct allo_text slot, struct allo_wire_text text)
{
	if (text.at >= slot.len)
		return (struct allo_text){ "", 0 };
	slot = allo_text_from(slot, text.at);
	return (struct allo_text){ slot.data, text.len < slot.len ? text.len : slot.len };
}

static bool cut_arguments(struct allo_recording *recording, struct allo_text all,
			  struct allo_error *err)
{
	struct allo_text argument;

	/* Each argument ends in a NUL, unless the head is cut. */
	if (all.len > 0 && all.data[all.len - 1] == '\0')
		all.len--;
	while (allo_text_next(&all, '\0', &argument)) {
		if (!allo_vec_append(&recording->arguments, &argument, 1))
			return allo_fail_memory(err);
	}
	return true;
}

/* Older recordings have texts in place of the last fields. */
static void clear_missing(struct allo_wire_head *head)
{
	const struct allo_wire_text *texts[] = { &head->program, &head->folder, &head->host,
						 &head->arguments };
	size_t end = head->version == 1 ? offsetof(struct allo_wire_head, sampling) : sizeof(*head);

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (texts[i]->len > 0 && texts[i]->at < end &&
		    texts[i]->at >= offsetof(struct allo_wire_head, sampling))
			end = texts[i]->at;
	}
	memset((char *)head + end, 0, sizeof(*head) - end);
}

/* A packed recording has no zeros at the end of the slot. */
static bool take_resident(struct allo_recording *recording, struct allo_text slot,
			  struct allo_error *err)
{
	struct allo_text bytes = text_of(slot, recording->head.resident);
	struct allo_wire_resident *resident;

	recording->resident = NULL;
	if (bytes.len == 0)
		return true;
	resident = ALLO_ARENA_NEW(&recording->arena, 1, struct allo_wire_resident);
	if (!resident)
		return allo_fail_memory(err);
	memcpy(resident, bytes.data, bytes.len < sizeof(*resident) ? bytes.len : sizeof(*resident));
	if (resident->step_ns > 0)
		recording->resident = resident;
	return true;
}

bool allo_recording_take_head(struct allo_recording *recording, struct allo_text bytes,
			      struct allo_error *err)
{
	struct allo_wire_head *head = &recording->head;
	size_t len = bytes.len < sizeof(*head) ? bytes.len : sizeof(*head);
	struct allo_text slot;

	memcpy(head, bytes.data, len);
	if (!check_head(recording, len, err))
		return false;
	clear_missing(head);
	slot.data = allo_arena_copy(&recording->arena, bytes.data, bytes.len);
	slot.len = bytes.len;
	if (!slot.data)
		return allo_fail_memory(err);
	recording->head_bytes = slot;
	while (recording->head_bytes.len > sizeof(*head) &&
	       slot.data[recording->head_bytes.len - 1] == '\0')
		recording->head_bytes.len--;
	ALLO_ASSERT(recording->head_bytes.len <= bytes.len);
	recording->program = text_of(slot, head->program);
	recording->folder = text_of(slot, head->folder);
	recording->host = text_of(slot, head->host);
	return take_resident(recording, slot, err) &&
	       cut_arguments(recording, text_of(slot, head->arguments), err);
}

static bool read_raw_head(struct allo_recording *recording, struct allo_error *err)
{
	ALLO_VEC(char) slot = { 0 };
	size_t got = 0;
	bool ok;

	if (!allo_vec_reserve(&slot, ALLO_SLOT_SIZE))
		return allo_fail_memory(err);
	ok = allo_random_access_read(&recording->source, 0, slot.at, ALLO_SLOT_SIZE, &got, err) &&
	     allo_recording_take_head(recording, (struct allo_text){ slot.at, got }, err);
	recording->gaps.is_cut = got < sizeof(recording->head);
	allo_vec_done(&slot);
	return ok;
}

void allo_recording_damage(struct allo_recording *recording, uint64_t offset, uint64_t pages)
{
	if (recording->gaps.damaged_pages == 0)
		recording->gaps.damaged_at = offset;
	recording->gaps.damaged_pages += pages;
}

/* Streams. */

/* By stream and sequence.  Of several copies of a page the best comes first. */
static int compare_pieces(const void *a, const void *b)
{
	const struct allo_piece *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	if (x->is_sealed != y->is_sealed)
		return x->is_sealed ? -1 : 1;
	if (x->raw_len != y->raw_len)
		return x->raw_len > y->raw_len ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Takes name, thread and losses of a stream from its last piece so far. */
static void update_stream(struct allo_stream *stream, const struct allo_piece *piece)
{
	stream->thread = piece->thread;
	stream->dropped = piece->dropped;
	stream->name = (struct allo_text){ piece->name, strnlen(piece->name, sizeof(piece->name)) };
}

/* Whether a page of events has been summed up.  `allo run` may have been killed before it freed the
 * page. */
static bool skip_covered(struct allo_recording *recording, const struct allo_piece *piece,
			 struct allo_error *err)
{
	if (piece->kind != ALLO_STREAM_EVENTS ||
	    !allo_earlier_covers(recording->earlier, piece->stream, piece->sequence))
		return false;
	if (piece->is_sealed)
		allo_vec_add(&recording->covered, piece->offset, err);
	return true;
}

/* The first sequence number of a stream. */
static uint64_t first_sequence(const struct allo_recording *recording, uint32_t stream)
{
	const struct allo_stream_start *start = allo_earlier_start(recording->earlier, stream);

	return start ? start->sequence : 0;
}

/* Adds the losses of all streams. */
static void count_losses(struct allo_recording *recording)
{
	const struct allo_earlier *earlier = recording->earlier;
	struct allo_gaps *gaps = &recording->gaps;
	uint64_t streams = recording->streams.len;

	for (size_t i = 0; i < recording->streams.len; i++)
		gaps->dropped_events += recording->streams.at[i].dropped;
	gaps->dropped_events += recording->head.losses.memory_events +
				recording->head.losses.sandbox_events;
	if (earlier) {
		gaps->dropped_events += earlier->totals.dropped_events;
		gaps->missing_pages += earlier->totals.missing_pages;
		streams += earlier->totals.threads;
	}
	if (recording->head.streams > streams)
		gaps->missing_streams = recording->head.streams - streams;
}

/* Sorts the pieces, drops copies, and makes streams. */
static bool make_streams(struct allo_recording *recording, struct allo_error *err)
{
	struct allo_gaps *gaps = &recording->gaps;
	struct allo_stream *stream = NULL;
	uint64_t next = 0; /* sequence */
	size_t keep = 0;   /* pieces kept so far */

	if (recording->pieces.len > 0)
		qsort(recording->pieces.at, recording->pieces.len, sizeof(*recording->pieces.at),
		      compare_pieces);
	for (size_t i = 0; i < recording->pieces.len; i++) {
		const struct allo_piece *piece = &recording->pieces.at[i];

		if (recording->earlier && skip_covered(recording, piece, err))
			continue;
		if (!stream || stream->number != piece->stream) {
			ALLO_ASSERT(!stream || stream->number < piece->stream);
			stream = allo_vec_push(&recording->streams);
			if (!stream)
				return allo_fail_memory(err);
			*stream = (struct allo_stream){ .number = piece->stream,
							.kind = piece->kind,
							.first_piece = keep };
			next = first_sequence(recording, piece->stream);
		}
		if (piece->kind != stream->kind) {
			allo_recording_damage(recording, piece->offset, piece->pages);
			continue;
		}
		if (piece->sequence < next)
			continue; /* an older copy */
		gaps->missing_pages += piece->sequence - next;
		next = (uint64_t)piece->sequence + piece->pages;
		ALLO_ASSERT(keep <= i);
		recording->pieces.at[keep] = *piece;
		update_stream(stream, &recording->pieces.at[keep++]);
		stream->piece_count++;
		ALLO_ASSERT(stream->first_piece + stream->piece_count == keep);
	}
	recording->pieces.len = keep;
	if (recording->earlier && !allo_earlier_add_streams(recording, err))
		return false;
	count_losses(recording);
	return !allo_failed(err);
}

/* Gaps of the raw recording are known from the trailer alone: the packed file is complete. */
static void add_stored_gaps(struct allo_recording *recording)
{
	struct allo_gaps found = recording->gaps;

	recording->gaps = recording->stored_gaps;
	recording->gaps.is_cut |= found.is_cut;
	recording->gaps.has_no_clock = found.has_no_clock;
	if (found.damaged_pages > recording->gaps.damaged_pages) {
		recording->gaps.damaged_pages = found.damaged_pages;
		recording->gaps.damaged_at = found.damaged_at;
	}
}

/* Opening and closing. */

enum { RING_TRIES = 20 }; /* to find the pages of a checkpoint before it is replaced */

static bool is_ring(const struct allo_recording *recording)
{
	return !recording->is_packed && recording->head.ring.size > 0;
}

static void forget_slots(struct allo_recording *recording)
{
	recording->pieces.len = recording->tails.len = recording->blanks.len = 0;
	recording->gaps = (struct allo_gaps){ 0 };
}

/* Reads the last checkpoint and finds the pages after it. */
static bool find_ring(struct allo_recording *recording, struct allo_error *err)
{
	uint64_t number, later;

	for (int i = 0; i < RING_TRIES; i++) {
		forget_slots(recording);
		if (!allo_earlier_number(recording, &number, err))
			return false;
		if (allo_earlier_load(recording, number, err) && !allo_slots_find(recording, err))
			return false;
		if (allo_failed(err) || !allo_earlier_number(recording, &later, err))
			return false;
		if (later == number)
			break;
	}
	if (later != number)
		return allo_fail_summed(recording, err);
	return number == 0 || recording->earlier ||
	       allo_fail(err, ALLO_FORMAT, pos_at(recording, 0),
			 "has a damaged checkpoint, without which its events cannot be read");
}

static bool read_raw(struct allo_recording *recording, struct allo_error *err)
{
	return read_raw_head(recording, err) &&
	       (is_ring(recording) ? find_ring(recording, err) : allo_slots_find(recording, err));
}

uint64_t allo_recording_file_bytes(const struct allo_recording *recording)
{
	return is_ring(recording) && recording->source.stored < recording->size
		       ? recording->source.stored
		       : recording->size;
}

uint64_t allo_recording_exact_ns(const struct allo_recording *recording)
{
	return recording->earlier ? recording->earlier->exact_ns : 0;
}

static bool open_source(struct allo_recording *recording, struct allo_error *err)
{
	char magic[sizeof(ALLO_HEAD_MAGIC)] = "";
	struct allo_text text = { magic, 0 };

	recording->size = recording->source.size;
	if (!allo_random_access_read(&recording->source, 0, magic, sizeof(magic) - 1, &text.len,
				     err))
		return false;
	if (!allo_recording_probe(text))
		return allo_fail(err, ALLO_FORMAT, pos_at(recording, 0), "is not a recording");
	recording->is_packed = allo_is_packed(text);
	if (recording->is_packed ? !allo_packed_open(recording, err) : !read_raw(recording, err))
		return false;
	recording->gaps.has_no_clock = recording->head.first.ticks == recording->head.last.ticks;
	if (!make_streams(recording, err) || !allo_recording_read_tables(recording, err) ||
	    (recording->sum_chunks.len > 0 && !allo_packed_load_sums(recording, err)))
		return false;
	if (recording->earlier)
		allo_earlier_settle(recording);
	if (recording->stored_summary)
		add_stored_gaps(recording);
	return true;
}

/* Bytes of all pages that are not events. */
static uint64_t table_bytes(const struct allo_recording *recording)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < recording->pieces.len; i++) {
		if (recording->pieces.at[i].kind != ALLO_STREAM_EVENTS)
			bytes += recording->pieces.at[i].raw_len;
	}
	return bytes;
}

bool allo_recording_refresh(struct allo_recording *recording, struct allo_error *err)
{
	uint64_t before = table_bytes(recording), missing = recording->gaps.missing_pages;
	struct allo_gaps *gaps = &recording->gaps;
	struct allo_wire_head head;
	size_t got;

	if (recording->is_packed)
		return true;
	if (!allo_random_access_read(&recording->source, 0, &head, sizeof(head), &got, err))
		return false;
	if (got == sizeof(head)) {
		clear_missing(&head);
		recording->head = head;
	}
	recording->streams.len = 0;
	gaps->missing_pages = gaps->missing_streams = gaps->dropped_events = 0;
	if (!allo_slots_refresh(recording, err) || !make_streams(recording, err))
		return false;
	if (gaps->missing_pages > missing && allo_earlier_is_replaced(recording, err))
		return allo_fail_summed(recording, err);
	if (table_bytes(recording) == before)
		return true;
	allo_recording_drop_tables(recording);
	return allo_recording_read_tables(recording, err);
}

bool allo_recording_open(struct allo_recording *recording, struct allo_input *in,
			 struct allo_error *err)
{
	*recording = (struct allo_recording){ .name = in->name,
					      .in = { .fd = -1 },
					      .progress = in->progress };
	return allo_random_access_open(&recording->source, in, err) && open_source(recording, err);
}

bool allo_recording_open_file(struct allo_recording *recording, const char *path,
			      const struct allo_progress *progress, struct allo_error *err)
{
	*recording = (struct allo_recording){ .in = { .fd = -1 }, .progress = progress };
	if (!allo_input_open(&recording->in, path, NULL, err))
		return false;
	recording->name = recording->in.name;
	return allo_random_access_open(&recording->source, &recording->in, err) &&
	       open_source(recording, err);
}

void allo_recording_free_nodes(struct allo_recording *recording)
{
	size_t count = recording->nodes.len;

	allo_vec_done(&recording->nodes);
	recording->nodes.len = count;
}

void allo_recording_close(struct allo_recording *recording)
{
	if (!recording->name)
		return; /* never opened: its descriptors are 0, which is a valid one */
	allo_packed_close(recording);
	allo_vec_done(&recording->arguments);
	allo_vec_done(&recording->streams);
	allo_vec_done(&recording->nodes);
	allo_vec_done(&recording->modules);
	allo_vec_done(&recording->module_changes);
	allo_vec_done(&recording->functions);
	allo_vec_done(&recording->interpreters);
	allo_vec_done(&recording->allocators);
	allo_vec_done(&recording->rate_changes);
	allo_vec_done(&recording->texts);
	allo_vec_done(&recording->label_sets);
	allo_vec_done(&recording->labels);
	allo_vec_done(&recording->outside_marks);
	allo_vec_done(&recording->pieces);
	allo_slots_done(recording);
	allo_earlier_free(recording->earlier);
	allo_vec_done(&recording->covered);
	allo_vec_done(&recording->sum_chunks);
	allo_vec_done(&recording->event_chunks);
	allo_vec_done(&recording->name_chunks);
	allo_vec_done(&recording->index_chunks);
	allo_arena_done(&recording->arena);
	allo_arena_done(&recording->table_arena);
	allo_random_access_close(&recording->source);
	allo_input_close(&recording->in);
	*recording = (struct allo_recording){ 0 };
}

/* Pieces. */

void allo_piece_bytes_done(struct allo_piece_bytes *bytes)
{
	allo_vec_done(&bytes->bytes);
	allo_vec_done(&bytes->packed);
}

void allo_recording_add_progress(struct allo_recording *recording, uint64_t more)
{
	recording->loaded += more;
	if (recording->progress)
		recording->progress->tell(recording->progress->context,
					  recording->loaded < recording->size ? recording->loaded
									      : recording->size,
					  recording->size);
}

bool allo_recording_load(struct allo_recording *recording, const struct allo_piece *piece,
			 struct allo_piece_bytes *bytes, struct allo_error *err)
{
	bytes->next = bytes->bytes.len = 0;
	if (!allo_vec_reserve(&bytes->bytes, (size_t)piece->raw_len + ALLO_EVENT_MAX))
		return allo_fail_memory(err);
	if (recording->is_packed ? !allo_packed_load(recording, piece, bytes, err)
				 : !allo_slot_load(recording, piece, bytes, err))
		return false;
	ALLO_ASSERT(bytes->bytes.len <= piece->raw_len);
	memset(bytes->bytes.at + bytes->bytes.len, 0, ALLO_EVENT_MAX);
	allo_recording_add_progress(recording, piece->file_len);
	return true;
}

bool allo_piece_next(struct allo_piece_bytes *bytes, struct allo_wire_slot *slot,
		     const uint8_t **at, const uint8_t **end)
{
	size_t left = bytes->bytes.len - bytes->next;

	ALLO_ASSERT(bytes->next <= bytes->bytes.len);
	if (left < sizeof(*slot))
		return false;
	memcpy(slot, bytes->bytes.at + bytes->next, sizeof(*slot));
	if (slot->used > left - sizeof(*slot))
		return false;
	*at = bytes->bytes.at + bytes->next + sizeof(*slot);
	*end = *at + slot->used;
	bytes->next += sizeof(*slot) + slot->used;
	ALLO_ASSERT(*end == bytes->bytes.at + bytes->next && bytes->next <= bytes->bytes.len);
	return true;
}

/* Time. */

struct allo_tick_scale allo_recording_scale(const struct allo_recording *recording)
{
	const struct allo_wire_moment *first = &recording->head.first;
	const struct allo_wire_moment *last = &recording->head.last;
	uint64_t ticks = last->ticks - first->ticks;
	uint64_t ns = last->monotonic_ns - first->monotonic_ns;
	unsigned __int128 factor = (unsigned __int128)1 << 32;

	if ((int64_t)ticks > 0 && (int64_t)ns > 0)
		factor = ((unsigned __int128)ns << 32) / ticks;
	/* No clock has such a rate: the head is wrong.  Take ticks as nanoseconds. */
	if (factor == 0 || factor > UINT64_MAX)
		factor = (unsigned __int128)1 << 32;
	ALLO_ASSERT(factor > 0 && factor <= UINT64_MAX);
	return (struct allo_tick_scale){ first->ticks, (uint64_t)factor };
}

uint64_t allo_recording_count_allocators(const struct allo_recording *recording, bool is_recorded)
{
	uint64_t count = 0;

	for (size_t i = 0; i < recording->allocators.len; i++) {
		uint32_t state = recording->allocators.at[i].state;

		count += state != ALLO_ALLOCATOR_OWN &&
			 (state == ALLO_ALLOCATOR_LATE) == is_recorded;
	}
	return count;
}

bool allo_recording_has_own_allocator(const struct allo_recording *recording)
{
	for (size_t i = 0; i < recording->allocators.len; i++) {
		if (recording->allocators.at[i].state == ALLO_ALLOCATOR_OWN)
			return true;
	}
	return false;
}

size_t allo_recording_thread_count(const struct allo_recording *recording)
{
	size_t count = 0;

	for (size_t i = 0; i < recording->streams.len; i++)
		count += recording->streams.at[i].kind == ALLO_STREAM_EVENTS;
	return count;
}

uint64_t allo_recording_duration(const struct allo_recording *recording)
{
	uint64_t ns = recording->head.last.monotonic_ns - recording->head.first.monotonic_ns;

	return (int64_t)ns > 0 ? ns : 0;
}

const char *allo_mode_name(uint32_t mode)
{
	static const char *const names[] = {
		[ALLO_MODE_EXACT] = "exact",
		[ALLO_MODE_SAMPLED] = "sampled",
		[ALLO_MODE_EVENTS] = "events",
		[ALLO_MODE_AD_HOC] = "ad-hoc",
	};

	return mode < sizeof(names) / sizeof(*names) ? names[mode] : "unknown";
}

const char *allo_end_name(enum allo_wire_end end)
{
	switch (end) {
	case ALLO_END_EXIT:
		return "exit";
	case ALLO_END_STOPPED:
		return "stopped";
	case ALLO_END_FULL:
		return "file full";
	case ALLO_END_DISK:
		return "disk full";
	case ALLO_END_LOST:
		return "file lost";
	case ALLO_END_INTERNAL:
		return "internal error";
	case ALLO_END_SANDBOX:
		return "space for the sandbox used up";
	case ALLO_END_LIMIT:
		return "file size limit";
	default:
		return "not by exit: killed, _exit, exec, or still running";
	}
}

struct allo_text allo_recording_program_name(const struct allo_recording *recording)
{
	struct allo_text name = recording->program;
	size_t end;

	if (recording->arguments.len > 0 && recording->arguments.at[0].len > 0)
		name = recording->arguments.at[0];
	/* Servers replace their arguments: "nginx: worker process". */
	end = allo_text_find(name, ALLO_TEXT(": "));
	if (end != (size_t)-1)
		name.len = end;
	return allo_basename(name);
}

bool allo_end_is_early(enum allo_wire_end end)
{
	return end == ALLO_END_DISK || end == ALLO_END_LOST || end == ALLO_END_INTERNAL ||
	       end == ALLO_END_SANDBOX || end == ALLO_END_LIMIT;
}
