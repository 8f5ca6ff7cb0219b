/* slots.c - finds and loads the slots of a raw recording. */
#include "replay/recording/recording_internal.h"

#include "base/assert.h"
#include "replay/ring/earlier.h"

enum {
	ROUNDS_MOST = 10, /* rescans for threads that have just started */
	BLANKS_MOST =
		4096, /* slots of a hole that are looked at one by one; a larger hole is skipped */
};

static bool is_sound(const struct allo_wire_slot *slot)
{
	return slot->kind >= ALLO_STREAM_EVENTS && slot->kind <= ALLO_STREAM_FACTS &&
	       slot->stream != 0 && slot->used <= ALLO_SLOT_ROOM;
}

/* Updates the size of a file that may still grow.  False for any other. */
static bool update_size(struct allo_recording *recording)
{
	if (!allo_random_access_grow(&recording->source))
		return false;
	recording->size = recording->source.size;
	return true;
}

/* Whether a slot ends before the file does.  It may have been written after the size was read. */
static bool is_whole(struct allo_recording *recording, const struct allo_piece *piece)
{
	return piece->raw_len <= recording->size - piece->offset ||
	       (update_size(recording) && piece->raw_len <= recording->size - piece->offset);
}

static bool add_piece(struct allo_recording *recording, uint64_t offset,
		      const struct allo_wire_slot *slot, struct allo_error *err)
{
	struct allo_piece *piece = allo_vec_push(&recording->pieces);

	if (!piece)
		return allo_fail_memory(err);
	*piece = (struct allo_piece){
		.offset = offset,
		.first_ticks = slot->from[0],
		.dropped = slot->dropped,
		.stream = slot->stream,
		.sequence = slot->sequence,
		.pages = 1,
		.raw_len = (uint32_t)sizeof(*slot) + slot->used,
		.thread = slot->thread,
		.kind = slot->kind,
		.is_sealed = slot->is_sealed != 0,
	};
	memcpy(piece->name, slot->name, sizeof(piece->name));
	if (!is_whole(recording, piece)) {
		piece->raw_len = (uint32_t)(recording->size - offset);
		piece->is_cut = true;
		recording->gaps.is_cut = true;
	}
	piece->file_len = piece->raw_len;
	return true;
}

/* Takes a slot that is new, or was blank before. */
static bool add_slot(struct allo_recording *recording, uint64_t offset,
		     const struct allo_wire_slot *slot, struct allo_error *err)
{
	if (slot->magic == 0)
		return allo_vec_append(&recording->blanks, &offset, 1) || allo_fail_memory(err);
	if (slot->magic != ALLO_SLOT_MAGIC || !is_sound(slot)) {
		allo_recording_damage(recording, offset, 1);
		return true;
	}
	if (!slot->is_sealed && !allo_vec_append(&recording->tails, &offset, 1))
		return allo_fail_memory(err);
	return add_piece(recording, offset, slot, err);
}

/* The end of a large hole that starts at a blank slot; its start if there is none. */
static uint64_t hole_end(const struct allo_recording *recording, uint64_t offset)
{
	uint64_t end = allo_random_access_next_data(&recording->source, offset);

	end -= end % ALLO_SLOT_SIZE;
	return end > offset && (end - offset) / ALLO_SLOT_SIZE > BLANKS_MOST ? end : offset;
}

/* Goes on after pages of a bounded recording that were freed.  False if the slot is not one of
 * them.
 */
static bool skip_freed(struct allo_recording *recording)
{
	uint64_t end;

	if (!recording->earlier || recording->scanned >= recording->earlier->totals.settled)
		return false;
	end = allo_random_access_next_data(&recording->source, recording->scanned);
	end -= end % ALLO_SLOT_SIZE;
	if (end > recording->scanned + ALLO_SLOT_SIZE)
		recording->scanned = end - ALLO_SLOT_SIZE; /* the caller adds one */
	return true;
}

/* Goes on after a blank slot.  False at a large hole that ends the used part of the file. */
static bool skip_hole(struct allo_recording *recording)
{
	uint64_t end = hole_end(recording, recording->scanned);

	if (end == recording->scanned)
		return true;
	if (recording->scanned / ALLO_SLOT_SIZE >= recording->head.slots)
		return false;
	recording->scanned = end - ALLO_SLOT_SIZE; /* the caller adds one */
	return true;
}

/* Reads the headers of all slots after the last scanned one. */
static bool scan(struct allo_recording *recording, struct allo_error *err)
{
	ALLO_ASSERT(recording->scanned > 0 && recording->scanned % ALLO_SLOT_SIZE == 0);
	for (; recording->scanned < recording->size; recording->scanned += ALLO_SLOT_SIZE) {
		struct allo_wire_slot slot;
		size_t got;

		if (!allo_random_access_read(&recording->source, recording->scanned, &slot,
					     sizeof(slot), &got, err))
			return false;
		if (got < sizeof(slot)) {
			recording->gaps.is_cut = true;
			return true;
		}
		if (slot.magic == 0 && skip_freed(recording))
			continue;
		if (slot.magic == 0 && !skip_hole(recording))
			return true;
		if (!add_slot(recording, recording->scanned, &slot, err))
			return false;
	}
	return true;
}

/* Reads the headers of slots that were blank. */
static bool scan_blanks(struct allo_recording *recording, struct allo_error *err)
{
	size_t count = recording->blanks.len;

	recording->blanks.len = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t offset = recording->blanks.at[i];
		struct allo_wire_slot slot = { 0 };
		size_t got;

		if (!allo_random_access_read(&recording->source, offset, &slot, sizeof(slot), &got,
					     err) ||
		    !add_slot(recording, offset, &slot, err))
			return false;
	}
	return true;
}

/* Tails of events are read first, those of stacks and facts second: then each event has its
 * stack. */
static bool is_in_turn(const struct allo_wire_slot *slot, bool is_first)
{
	return (slot->kind == ALLO_STREAM_EVENTS) == is_first;
}

static bool scan_tails(struct allo_recording *recording, bool is_first, struct allo_error *err)
{
	for (size_t i = 0; i < recording->tails.len; i++) {
		uint64_t offset = recording->tails.at[i];
		struct allo_wire_slot slot;
		size_t got;

		if (!allo_random_access_read(&recording->source, offset, &slot, sizeof(slot), &got,
					     err))
			return false;
		if (got == sizeof(slot) && slot.magic == ALLO_SLOT_MAGIC && is_sound(&slot) &&
		    is_in_turn(&slot, is_first) && !add_piece(recording, offset, &slot, err))
			return false;
	}
	return true;
}

static void drop_tails(struct allo_recording *recording)
{
	size_t kept = 0;

	for (size_t i = 0; i < recording->pieces.len; i++) {
		if (recording->pieces.at[i].is_sealed)
			recording->pieces.at[kept++] = recording->pieces.at[i];
	}
	recording->pieces.len = kept;
}

bool allo_slots_refresh(struct allo_recording *recording, struct allo_error *err)
{
	size_t known;
	unsigned round = 0;

	/* A thread that has just started may have sealed pages in slots that were already scanned.
	 */
	do {
		known = recording->tails.len;
		drop_tails(recording);
		if (!scan_tails(recording, true, err) || !scan_tails(recording, false, err) ||
		    !scan_blanks(recording, err))
			return false;
		if (update_size(recording) && !scan(recording, err))
			return false;
	} while (recording->tails.len > known && ++round < ROUNDS_MOST);
	return true;
}

bool allo_slots_find(struct allo_recording *recording, struct allo_error *err)
{
	bool is_well = recording->head.end == ALLO_END_EXIT ||
		       recording->head.end == ALLO_END_STOPPED;

	recording->scanned = allo_wire_first_slot(&recording->head.ring) * ALLO_SLOT_SIZE;
	if (!scan(recording, err))
		return false;
	if (recording->head.end == ALLO_END_NONE && allo_random_access_grow(&recording->source) &&
	    !allo_slots_refresh(recording, err))
		return false;
	/* A missing slot is a gap only if the process ended well.  One that was killed, or had no
	 * space left, may not have written it. */
	if (is_well &&
	    recording->head.slots > (recording->size + ALLO_SLOT_SIZE - 1) / ALLO_SLOT_SIZE)
		recording->gaps.is_cut = true;
	return true;
}

void allo_slots_done(struct allo_recording *recording)
{
	allo_vec_done(&recording->tails);
	allo_vec_done(&recording->blanks);
	allo_vec_done(&recording->moved);
}

/* Loading. */

/* Whether note_sealed() knows a slot.  Only slots up to moved_last can be known. */
static bool is_noted(const struct allo_recording *recording, uint64_t offset)
{
	size_t i = offset <= recording->moved_last ? recording->moved.len : 0;

	while (i > 0 && recording->moved.at[i - 1].offset != offset)
		i--;
	return i > 0;
}

/* Notes the place of a page that was sealed since the pieces were found. */
static bool note_sealed(struct allo_recording *recording, uint64_t offset, bool *is_blank,
			struct allo_error *err)
{
	struct allo_moved_slot moved = { .offset = offset };
	struct allo_wire_slot slot = { 0 };
	size_t got;

	if (!allo_random_access_read(&recording->source, offset, &slot, sizeof(slot), &got, err))
		return false;
	*is_blank = slot.magic == 0;
	moved.stream = slot.stream;
	moved.sequence = slot.sequence;
	if (slot.magic != ALLO_SLOT_MAGIC || !slot.is_sealed || is_noted(recording, offset))
		return true;
	if (offset > recording->moved_last)
		recording->moved_last = offset;
	return allo_vec_append(&recording->moved, &moved, 1) || allo_fail_memory(err);
}

/* Searches slots that were blank when the pieces were found, and new slots.  The next search starts
 * at the first slot that is still blank. */
static bool find_sealed(struct allo_recording *recording, struct allo_error *err)
{
	uint64_t offset = recording->moved_scanned, first_blank = 0;
	bool is_blank;

	ALLO_ASSERT(offset % ALLO_SLOT_SIZE == 0);
	if (offset < recording->scanned)
		offset = recording->scanned;
	if (!allo_random_access_grow(&recording->source))
		return true;
	for (size_t i = 0; i < recording->blanks.len; i++) {
		if (!note_sealed(recording, recording->blanks.at[i], &is_blank, err))
			return false;
	}
	for (; offset < recording->source.size; offset += ALLO_SLOT_SIZE) {
		if (!note_sealed(recording, offset, &is_blank, err))
			return false;
		if (is_blank && first_blank == 0)
			first_blank = offset;
		if (is_blank && hole_end(recording, offset) > offset)
			break;
	}
	recording->moved_scanned = first_blank ? first_blank : offset;
	return true;
}

/* The new offset of a tail that has moved; 0 if it is not known. */
static uint64_t find_moved(const struct allo_recording *recording, const struct allo_piece *piece)
{
	for (size_t i = 0; i < recording->moved.len; i++) {
		const struct allo_moved_slot *moved = &recording->moved.at[i];

		if (moved->stream == piece->stream && moved->sequence == piece->sequence)
			return moved->offset;
	}
	return 0;
}

static bool is_of_piece(const struct allo_wire_slot *slot, const struct allo_piece *piece)
{
	return slot->stream == piece->stream && slot->sequence == piece->sequence;
}

/* Reads a piece, and whether it is still the same page.  The process may reuse a tail while it is
 * read: the header tells afterwards. */
static bool read_piece(const struct allo_recording *recording, const struct allo_piece *piece,
		       uint64_t offset, struct allo_wire_slot *slot, struct allo_error *err)
{
	struct allo_wire_slot now;
	size_t got;

	if (!allo_random_access_read(&recording->source, offset, slot, piece->raw_len, &got, err) ||
	    got < piece->raw_len || !is_of_piece(slot, piece))
		return false;
	if ((piece->is_sealed || offset != piece->offset) && recording->head.ring.size == 0)
		return true;
	return allo_random_access_read(&recording->source, offset, &now, sizeof(now), &got, err) &&
	       got == sizeof(now) && is_of_piece(&now, piece);
}

bool allo_slot_load(struct allo_recording *recording, const struct allo_piece *piece,
		    struct allo_piece_bytes *bytes, struct allo_error *err)
{
	struct allo_wire_slot *slot = (struct allo_wire_slot *)bytes->bytes.at;
	bool is_there = read_piece(recording, piece, piece->offset, slot, err);

	if (!is_there && !allo_failed(err) && !piece->is_sealed) {
		uint64_t offset;

		if (!find_sealed(recording, err))
			return false;
		offset = find_moved(recording, piece);
		is_there = offset != 0 && read_piece(recording, piece, offset, slot, err);
	}
	if (!is_there) {
		if (!allo_failed(err) && allo_earlier_is_replaced(recording, err))
			return allo_fail_summed(recording, err);
		if (!allo_failed(err))
			allo_recording_damage(recording, piece->offset, 1);
		return !allo_failed(err);
	}
	slot->used = piece->raw_len - (uint32_t)sizeof(*slot);
	slot->is_cut = piece->is_cut;
	bytes->bytes.len = piece->raw_len;
	return true;
}
