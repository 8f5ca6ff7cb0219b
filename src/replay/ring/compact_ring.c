/* compact_ring.c - checkpoints: replaying the older events, writing, switching, freeing. */
#include "replay/ring/compact_ring.h"

#include "base/defer.h"
#include "replay/events/event_cursor.h"
#include "replay/ring/compaction.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum {
	LEVEL = 1,         /* of zstd: the program may be waiting for space */
	LATE_NS = 1000000, /* a free by another thread may come so much later than its block's
			      address is allocated again, as clocks differ */
	LATE_TRIES = 100,
	PUNCHED_AT_ONCE = 64, /* slots */
};

static void compactor_done(struct allo_compaction *compactor)
{
	struct allo_earlier *next = &compactor->next;

	for (size_t i = 0; i < next->starts.len; i++)
		free(next->starts.at[i].state);
	allo_vec_done(&next->sites);
	allo_vec_done(&next->own);
	allo_vec_done(&next->kept);
	allo_vec_done(&next->starts);
	allo_vec_done(&next->unseen);
	allo_vec_done(&compactor->streams);
	allo_vec_done(&compactor->freed);
	allo_events_close(&compactor->events);
	allo_heap_done(&compactor->heap);
	allo_recording_close(&compactor->recording);
	if (compactor->fd >= 0)
		close(compactor->fd);
}

/* Room. */

static uint64_t slots_of(uint64_t bytes)
{
	return (bytes + ALLO_SLOT_SIZE - 1) / ALLO_SLOT_SIZE;
}

/* Slots for all but streams: the head, the spare ones, and what file systems need themselves. */
static uint64_t overhead(const struct allo_wire_ring *ring)
{
	return 2 + allo_wire_ring_spare(ring) + ring->size / ALLO_SLOT_SIZE / 64;
}

/* The most slots that streams may use beside a checkpoint of some size and the next one. */
static uint64_t most_slots(const struct allo_wire_ring *ring, uint64_t checkpoint)
{
	uint64_t all = ring->size / ALLO_SLOT_SIZE, next = 2 * checkpoint;
	uint64_t other;

	if (next < all / 8)
		next = all / 8;
	other = overhead(ring) + checkpoint + next;
	return other < all ? all - other : 0;
}

static uint64_t trigger_of(const struct allo_wire_ring *ring, uint64_t checkpoint)
{
	uint64_t half = ring->size / ALLO_SLOT_SIZE / 2;
	uint64_t most = most_slots(ring, checkpoint) / 3 * 2;

	return most < half ? most : half;
}

/* Slots of the checkpoint in the file. */
static uint64_t checkpoint_slots(int fd, const struct allo_wire_ring *ring)
{
	uint64_t area = (uint64_t)ring->area_slots * ALLO_SLOT_SIZE;
	struct allo_wire_checkpoint head = { 0 };

	if (ring->checkpoints == 0 ||
	    pread(fd, &head, sizeof(head),
		  (off_t)(ALLO_SLOT_SIZE + ring->checkpoints % 2 * area)) != sizeof(head) ||
	    head.packed_len > area)
		return 0;
	return slots_of(sizeof(head) + head.packed_len);
}

static bool read_head(int fd, struct allo_wire_head *head)
{
	return pread(fd, head, sizeof(*head), 0) == sizeof(*head) &&
	       memcmp(head->magic, ALLO_HEAD_MAGIC, sizeof(head->magic)) == 0 &&
	       head->version == ALLO_RING_VERSION && head->ring.size > 0;
}

static void take_state(struct allo_ring_state *state, const struct allo_wire_head *head, int fd)
{
	uint64_t first = allo_wire_first_slot(&head->ring) + state->freed;

	state->size = head->ring.size;
	state->checkpoints = head->ring.checkpoints;
	state->used = head->slots > first ? head->slots - first : 0;
	state->now_ns = head->last.monotonic_ns;
	if (state->exact_ns == 0)
		state->exact_ns = head->first.monotonic_ns;
	if (state->trigger == 0)
		state->trigger = trigger_of(&head->ring, checkpoint_slots(fd, &head->ring));
}

bool allo_ring_look(const char *path, struct allo_ring_state *state, struct allo_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct allo_wire_head head;

	state->size = 0;
	if (fd < 0)
		return allo_fail_errno(err, path, "open");
	if (read_head(fd, &head))
		take_state(state, &head, fd);
	close(fd);
	return true;
}

/* The time up to which events are summed up. */

static int compare_ticks(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Sealed pages end when the next page of their stream begins. */
static bool find_ends(const struct allo_compaction *compactor, uint64_t *ends, size_t *count)
{
	const struct allo_recording *recording = &compactor->recording;

	*count = 0;
	for (size_t i = 0; i < recording->streams.len; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];
		const struct allo_piece *pieces = &recording->pieces.at[stream->first_piece];

		if (stream->kind != ALLO_STREAM_EVENTS)
			continue;
		for (size_t k = 0; k + 1 < stream->piece_count; k++)
			ends[(*count)++] = pieces[k + 1].first_ticks;
	}
	if (*count > 0)
		qsort(ends, *count, sizeof(*ends), compare_ticks);
	return *count > 0;
}

/* Sets the time such that about half of the pages are freed.  False if there are too few. */
static bool choose_time_by_pages(struct allo_compaction *compactor, struct allo_error *err)
{
	size_t count, pieces = compactor->recording.pieces.len;
	ALLO_DEFER(allo_free_pointer) uint64_t *ends = calloc(pieces + 1, sizeof(*ends));
	uint64_t keep = compactor->state->trigger / 2, used = compactor->state->used;
	uint64_t wanted = used > keep ? used - keep : 0;
	struct allo_tick_scale scale = allo_recording_scale(&compactor->recording);

	if (!ends)
		return allo_fail_memory(err);
	if (!find_ends(compactor, ends, &count) || wanted == 0)
		return false;
	/* The newest pages stay: a thread that was interrupted may still write an event of their
	 * time. */
	if (wanted > count * 7 / 8)
		wanted = count * 7 / 8;
	if (wanted == 0)
		return false;
	compactor->until_ns = allo_ticks_to_ns(scale, ends[wanted - 1]);
	return true;
}

/* False if there is nothing to sum up. */
static bool choose_time(struct allo_compaction *compactor, struct allo_error *err)
{
	uint64_t duration_ns = allo_recording_duration(&compactor->recording);
	uint64_t keep_ns = compactor->state->keep_ns;

	if (keep_ns == 0 || compactor->state->used >= compactor->state->trigger) {
		if (!choose_time_by_pages(compactor, err))
			return false;
	} else if (duration_ns > keep_ns) {
		compactor->until_ns = duration_ns - keep_ns;
	}
	return compactor->until_ns > allo_recording_exact_ns(&compactor->recording);
}

/* Replaying. */

static bool keep_page_states(const struct allo_compaction *compactor, struct allo_error *err)
{
	for (size_t i = 0; i < compactor->events.heap.len; i++) {
		struct allo_event_cursor *cursor = compactor->events.heap.at[i];

		if (cursor->number == UINT32_MAX)
			continue;
		cursor->page_state = calloc(1, sizeof(*cursor->page_state));
		if (!cursor->page_state)
			return allo_fail_memory(err);
	}
	return true;
}

/* Marks of other processes are in the head for good. */
static bool is_outside(const struct allo_recording *recording, const struct allo_event *mark)
{
	for (size_t i = 0; i < recording->outside_marks.len; i++) {
		if (recording->outside_marks.at[i].ns == mark->ns &&
		    recording->outside_marks.at[i].text == mark->note)
			return true;
	}
	return false;
}

static bool keep_marks(struct allo_compaction *compactor, const struct allo_event_span *span,
		       struct allo_error *err)
{
	for (size_t i = 0; i < span->count; i++) {
		if (span->events[i].kind == ALLO_EVENT_MARK &&
		    !is_outside(&compactor->recording, &span->events[i]) &&
		    !allo_vec_append(&compactor->next.kept, &span->events[i], 1))
			return allo_fail_memory(err);
	}
	return true;
}

static bool note_streams(struct allo_compaction *compactor, const struct allo_event_span *span,
			 const struct allo_outcomes *outcomes, struct allo_error *err)
{
	if (!allo_vec_cover(&compactor->streams, compactor->heap.blocks.places.count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < span->count; i++) {
		if (outcomes->at[i].flags & ALLO_OUTCOME_CREATED)
			compactor->streams.at[outcomes->place[i]] = span->events[i].stream;
	}
	return true;
}

static bool replay_to_time(struct allo_compaction *compactor, struct allo_error *err)
{
	struct allo_heap *heap = &compactor->heap;
	size_t stacks = compactor->recording.nodes.len;
	struct allo_event_span span, applied;
	struct allo_outcomes outcomes;

	compactor->events.until_ns = compactor->until_ns;
	while (allo_events_next(&compactor->events, &span, err)) {
		applied = span;
		if (!keep_marks(compactor, &span, err) ||
		    (heap->ids && !allo_heap_number_sites(heap, &applied, stacks, err)) ||
		    !allo_heap_apply_with_outcomes(heap, &applied, &outcomes, err) ||
		    !note_streams(compactor, &span, &outcomes, err))
			return false;
	}
	return !allo_failed(err);
}

/* Whether a free may still come that belongs to a block whose address was allocated again. */
static bool awaits_free(const struct allo_compaction *compactor)
{
	const struct allo_live_blocks *blocks = &compactor->heap.blocks;

	for (size_t i = 0; i < ALLO_RETIRED_KEPT && blocks->retired_kept > 0; i++) {
		if (blocks->retired[i].block.pointer != 0 &&
		    blocks->retired[i].ns + LATE_NS > compactor->until_ns)
			return true;
	}
	return false;
}

static bool replay(struct allo_compaction *compactor, struct allo_error *err)
{
	struct allo_recording *recording = &compactor->recording;
	struct allo_heap *heap = &compactor->heap;
	bool ok = allo_heap_init(heap, recording, err);

	heap->blocks.places.are_wanted = true;
	if (ok && allo_recording_has_labels(recording)) {
		heap->ids = calloc(1, sizeof(*heap->ids));
		ok = heap->ids || allo_fail_memory(err);
	}
	if (!ok || !allo_heap_add_earlier(heap, recording, err) ||
	    !allo_events_open(&compactor->events, recording, err))
		return false;
	compactor->events.follows = true;
	if (!keep_page_states(compactor, err) || !replay_to_time(compactor, err))
		return false;
	for (int i = 0; i < LATE_TRIES && awaits_free(compactor); i++) {
		compactor->until_ns += LATE_NS;
		if (!replay_to_time(compactor, err))
			return false;
	}
	return true;
}

/* The file. */

static bool write_all(const struct allo_compaction *compactor, const void *bytes, size_t len,
		      uint64_t offset, struct allo_error *err)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t put = pwrite(compactor->fd, at, len, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return allo_fail_errno(err, compactor->path, "write to");
		at += put;
		len -= (size_t)put;
		offset += (uint64_t)put;
	}
	return true;
}

/* Whether a checkpoint fits, whatever the program writes meanwhile. */
static bool has_room(struct allo_compaction *compactor, uint64_t len)
{
	const struct allo_wire_ring *ring = &compactor->recording.head.ring;
	uint64_t freed = compactor->next.totals.freed_pages - compactor->freed.len;
	uint64_t streams = ring->limit - allo_wire_first_slot(ring) - freed;
	uint64_t needed = overhead(ring) + streams + checkpoint_slots(compactor->fd, ring) +
			  slots_of(len);
	uint64_t all = ring->size / ALLO_SLOT_SIZE;

	compactor->state->short_bytes = needed > all ? (needed - all) * ALLO_SLOT_SIZE : 0;
	return needed <= all;
}

/* Writes the checkpoint to the area of the one before the last, its head at the end. */
static bool write_checkpoint(struct allo_compaction *compactor, const allo_earlier_bytes *raw,
			     uint64_t *slots, struct allo_error *err)
{
	const struct allo_wire_ring *ring = &compactor->recording.head.ring;
	size_t bound = ZSTD_compressBound(raw->len), len;
	ALLO_DEFER(allo_free_pointer) char *packed = malloc(bound);
	struct allo_wire_checkpoint head = { .number = ring->checkpoints + 1, .raw_len = raw->len };
	uint64_t at = ALLO_SLOT_SIZE +
		      head.number % 2 * (uint64_t)ring->area_slots * ALLO_SLOT_SIZE;

	if (!packed)
		return allo_fail_memory(err);
	len = ZSTD_compress(packed, bound, raw->at, raw->len, LEVEL);
	if (ZSTD_isError(len))
		return allo_fail_memory(err);
	memcpy(head.magic, ALLO_CHECKPOINT_MAGIC, sizeof(head.magic));
	head.packed_len = len;
	head.hash = XXH64(packed, len, head.number);
	*slots = slots_of(sizeof(head) + len);
	if (!has_room(compactor, sizeof(head) + len) || *slots > ring->area_slots)
		return false;
	return write_all(compactor, packed, len, at + sizeof(head), err) &&
	       write_all(compactor, &head, sizeof(head), at, err);
}

static bool set_number(const struct allo_compaction *compactor, size_t field, uint64_t number,
		       struct allo_error *err)
{
	return write_all(compactor, &number, sizeof(number),
			 offsetof(struct allo_wire_head, ring) + field, err);
}

static bool punch(const struct allo_compaction *compactor, uint64_t offset, uint64_t len,
		  struct allo_error *err)
{
	return fallocate(compactor->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
			 (off_t)len) == 0 ||
	       allo_fail_errno(err, compactor->path, "free a part of");
}

static int compare_offsets(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The number of slots in a row, from the first one on.  Few calls, as each takes milliseconds where
 * the file system writes first what it frees; but several, as the program may be waiting. */
static size_t count_row(const uint64_t *offsets, size_t count)
{
	size_t row = 1;

	while (row < count && row < PUNCHED_AT_ONCE &&
	       offsets[row] == offsets[0] + row * ALLO_SLOT_SIZE)
		row++;
	return row;
}

/* Frees pages, and lets the program use as many more. */
static bool free_pages_of(struct allo_compaction *compactor, struct allo_error *err)
{
	uint64_t limit = compactor->recording.head.ring.limit;
	size_t count = compactor->freed.len, row;
	uint64_t *at = compactor->freed.at;

	if (count > 0)
		qsort(at, count, sizeof(*at), compare_offsets);
	for (size_t i = 0; i < count; i += row) {
		row = count_row(at + i, count - i);
		limit += row;
		if (!punch(compactor, at[i], row * ALLO_SLOT_SIZE, err) ||
		    !set_number(compactor, offsetof(struct allo_wire_ring, limit), limit, err))
			return false;
	}
	return true;
}

static bool free_space(struct allo_compaction *compactor, struct allo_error *err)
{
	const struct allo_recording *recording = &compactor->recording;
	const struct allo_wire_ring *ring = &recording->head.ring;
	uint64_t area = (uint64_t)ring->area_slots * ALLO_SLOT_SIZE;

	for (size_t i = 0; i < recording->covered.len; i++) {
		if (!punch(compactor, recording->covered.at[i], ALLO_SLOT_SIZE, err))
			return false;
	}
	return free_pages_of(compactor, err) &&
	       punch(compactor, ALLO_SLOT_SIZE + ring->checkpoints % 2 * area, area, err);
}

/* In this order: a reader, and whoever continues after a kill, finds the old state or the new one.
 */
static bool store(struct allo_compaction *compactor, struct allo_error *err)
{
	const struct allo_wire_ring *ring = &compactor->recording.head.ring;
	allo_earlier_bytes raw = { 0 };
	uint64_t slots = 0, limit;
	bool ok = allo_earlier_write(&compactor->next, &raw, err) &&
		  write_checkpoint(compactor, &raw, &slots, err);

	allo_vec_done(&raw);
	if (!ok ||
	    !set_number(compactor, offsetof(struct allo_wire_ring, checkpoints),
			ring->checkpoints + 1, err) ||
	    !free_space(compactor, err))
		return false;
	limit = allo_wire_first_slot(ring) + compactor->next.totals.freed_pages +
		most_slots(ring, slots);
	compactor->state->freed = compactor->next.totals.freed_pages;
	compactor->state->trigger = trigger_of(ring, slots);
	compactor->state->exact_ns = compactor->recording.head.first.monotonic_ns +
				     compactor->until_ns;
	return set_number(compactor, offsetof(struct allo_wire_ring, limit), limit, err);
}

bool allo_ring_compact(const char *path, struct allo_ring_state *state, struct allo_error *err)
{
	ALLO_DEFER(compactor_done)
	struct allo_compaction compactor = { .path = path, .state = state };
	struct allo_recording *recording = &compactor.recording;

	compactor.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (compactor.fd < 0)
		return allo_fail_errno(err, path, "open");
	if (!allo_recording_open_file(recording, path, NULL, err))
		return false;
	if (recording->is_packed || recording->head.ring.size == 0)
		return true;
	if (recording->earlier)
		state->freed = recording->earlier->totals.freed_pages;
	take_state(state, &recording->head, compactor.fd);
	if (!allo_ring_is_due(state) || !choose_time(&compactor, err))
		return !allo_failed(err);
	return (replay(&compactor, err) && allo_compaction_sum_up(&compactor, err) &&
		store(&compactor, err)) ||
	       !allo_failed(err);
}

bool allo_ring_is_possible(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	bool ok = true;

	/* Without unnamed files, the first attempt tells. */
	if (fd < 0)
		return true;
	ok = ftruncate(fd, (off_t)2 * ALLO_SLOT_SIZE) == 0 &&
	     fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, ALLO_SLOT_SIZE) == 0;
	close(fd);
	return ok;
}
