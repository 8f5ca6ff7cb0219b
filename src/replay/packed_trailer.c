/* packed_trailer.c - see packed_trailer.h. */
#include "replay/packed_trailer.h"

#include "wire/varint.h"

#define NUMBER(field) offsetof(struct allo_summary, field)

/* The numbers of a summary, in the order in which they are written; new ones come at the end. */
static const size_t numbers[] = {
	NUMBER(events),
	NUMBER(allocations),
	NUMBER(resizes),
	NUMBER(frees),
	NUMBER(failed_resizes),
	NUMBER(unknown_frees),
	NUMBER(total_bytes),
	NUMBER(peak_bytes),
	NUMBER(peak_blocks),
	NUMBER(peak_ns),
	NUMBER(end_bytes),
	NUMBER(end_blocks),
	NUMBER(threads),
	NUMBER(stacks),
	NUMBER(complete_allocations),
	NUMBER(dropped_events),
	NUMBER(lost_blocks),
	NUMBER(missing_blocks),
	NUMBER(duration_ns),
	NUMBER(file_bytes),
	NUMBER(counts.lost_blocks),
	NUMBER(counts.guessed_frames),
	NUMBER(counts.failed_stacks),
	NUMBER(counts.cut_stacks),
	NUMBER(counts.checked_stacks),
	NUMBER(counts.different_stacks),
	NUMBER(counts.own_bytes),
};

enum { NUMBERS = sizeof(numbers) / sizeof(*numbers), ALL_NUMBERS = NUMBERS + 2 };

static bool add_number(allo_trailer *trailer, uint64_t number)
{
	uint8_t bytes[ALLO_VARINT_MAX];

	return allo_vec_append(trailer, bytes, (size_t)(allo_varint_put(bytes, number) - bytes));
}

bool allo_trailer_add_summary(allo_trailer *trailer, const struct allo_summary *summary)
{
	uint64_t number;

	if (!add_number(trailer, ALL_NUMBERS))
		return false;
	for (size_t i = 0; i < NUMBERS; i++) {
		memcpy(&number, (const char *)summary + numbers[i], sizeof(number));
		if (!add_number(trailer, number))
			return false;
	}
	return add_number(trailer, summary->end) && add_number(trailer, summary->is_cut);
}

static bool take_number(struct allo_text *trailer, uint64_t *number)
{
	const uint8_t *at = (const uint8_t *)trailer->data, *start = at;

	if (!allo_varint_take(&at, at + trailer->len, number))
		return false;
	*trailer = allo_text_from(*trailer, (size_t)(at - start));
	return true;
}

bool allo_trailer_take_summary(struct allo_text *trailer, struct allo_summary *summary)
{
	uint64_t count, number;

	*summary = (struct allo_summary){ 0 };
	if (!take_number(trailer, &count))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (!take_number(trailer, &number))
			return false;
		if (i < NUMBERS)
			memcpy((char *)summary + numbers[i], &number, sizeof(number));
		else if (i == NUMBERS)
			summary->end = (enum allo_wire_end)number;
		else if (i == NUMBERS + 1)
			summary->is_cut = number != 0;
	}
	return count >= ALL_NUMBERS;
}

bool allo_trailer_add_chunk(allo_trailer *trailer, uint64_t offset, const struct allo_chunk *chunk)
{
	return allo_vec_append(trailer, &offset, sizeof(offset)) &&
	       allo_vec_append(trailer, chunk, sizeof(*chunk));
}

bool allo_trailer_take_chunk(struct allo_text *trailer, uint64_t *offset, struct allo_chunk *chunk)
{
	if (trailer->len < sizeof(*offset) + sizeof(*chunk))
		return false;
	memcpy(offset, trailer->data, sizeof(*offset));
	memcpy(chunk, trailer->data + sizeof(*offset), sizeof(*chunk));
	*trailer = allo_text_from(*trailer, sizeof(*offset) + sizeof(*chunk));
	return true;
}
