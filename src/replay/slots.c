/* slots.c - see slots.h. */
#include "replay/recording_internal.h"

enum { ROUNDS_MOST = 10 }; /* of looking for threads that have just begun */

static bool is_sound(const struct allo_wire_slot *slot)
{
	return slot->kind >= ALLO_STREAM_EVENTS && slot->kind <= ALLO_STREAM_FACTS &&
	       slot->stream != 0 && slot->used <= ALLO_SLOT_ROOM;
}

/* Finds out how large the file is by now; false where it is not one that may grow. */
static bool look_at_size(struct allo_recording *recording)
{
	if (!allo_random_access_grow(&recording->source))
		return false;
	recording->size = recording->source.size;
	return true;
}

/* Whether a slot ends before the file does.  One that has a header is written already, but may have
 * been after the size was looked at. */
static bool is_whole(struct allo_recording *recording, const struct allo_piece *piece)
{
	return piece->raw_len <= recording->size - piece->offset ||
	       (look_at_size(recording) && piece->raw_len <= recording->size - piece->offset);
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
		.blocks = 1,
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

/* A slot that was not looked at before, or had nothing in it then. */
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

/* Looks at all slots from where the last look ended. */
static bool scan(struct allo_recording *recording, struct allo_error *err)
{
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
		if (!add_slot(recording, recording->scanned, &slot, err))
			return false;
	}
	return true;
}

/* Slots that had nothing in them may have by now. */
static bool look_at_blanks(struct allo_recording *recording, struct allo_error *err)
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

/* Whether a stream's tails are among those that are looked at in a turn.  Stacks and modules come
 * after the events that need them. */
static bool is_in_turn(const struct allo_wire_slot *slot, bool is_first)
{
	return (slot->kind == ALLO_STREAM_EVENTS) == is_first;
}

static bool look_at_tails(struct allo_recording *recording, bool is_first, struct allo_error *err)
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

	/* Of a thread that has just begun, blocks may have been sealed behind where we looked. */
	do {
		known = recording->tails.len;
		drop_tails(recording);
		if (!look_at_tails(recording, true, err) || !look_at_tails(recording, false, err) ||
		    !look_at_blanks(recording, err))
			return false;
		if (look_at_size(recording) && !scan(recording, err))
			return false;
	} while (recording->tails.len > known && ++round < ROUNDS_MOST);
	return true;
}

bool allo_slots_find(struct allo_recording *recording, struct allo_error *err)
{
	bool is_well = recording->head.end == ALLO_END_EXIT ||
		       recording->head.end == ALLO_END_STOPPED;

	recording->scanned = ALLO_SLOT_SIZE;
	if (!scan(recording, err))
		return false;
	if (recording->head.end == ALLO_END_NONE && allo_random_access_grow(&recording->source) &&
	    !allo_slots_refresh(recording, err))
		return false;
	/* A slot that was given out and is not there means something only where all went well: a
	 * process that is killed, or has no room left, may not have come to writing it. */
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

/* Only what is near a slot that was just being written is looked at twice. */
static bool is_noted(const struct allo_recording *recording, uint64_t offset)
{
	size_t i = offset <= recording->moved_last ? recording->moved.len : 0;

	while (i > 0 && recording->moved.at[i - 1].offset != offset)
		i--;
	return i > 0;
}

/* Notes where a block is that has been sealed since the pieces were found; whether the slot has
 * anything in it yet. */
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

/* Looks through what has come since the pieces were found: into slots that were just being written
 * then, and into new ones, the next time from the first on that is just being written now. */
static bool find_sealed(struct allo_recording *recording, struct allo_error *err)
{
	uint64_t offset = recording->moved_scanned, first_blank = 0;
	bool is_blank;

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
	}
	recording->moved_scanned = first_blank ? first_blank : offset;
	return true;
}

/* Where a tail went that is not there any more; 0: nowhere. */
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

/* Reads what a piece had when it was found; whether it is that.  A tail may be started anew while
 * it is read, which its header tells afterwards. */
static bool read_piece(const struct allo_recording *recording, const struct allo_piece *piece,
		       uint64_t offset, struct allo_wire_slot *slot, struct allo_error *err)
{
	struct allo_wire_slot now;
	size_t got;

	if (!allo_random_access_read(&recording->source, offset, slot, piece->raw_len, &got, err) ||
	    got < piece->raw_len || !is_of_piece(slot, piece))
		return false;
	if (piece->is_sealed || offset != piece->offset)
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
		if (!allo_failed(err))
			allo_recording_damage(recording, piece->offset, 1);
		return !allo_failed(err);
	}
	slot->used = piece->raw_len - (uint32_t)sizeof(*slot);
	slot->is_cut = piece->is_cut;
	bytes->bytes.len = piece->raw_len;
	return true;
}
