#include "replay/packed/packed_trailer.h"

#include "wire/varint.h"

/* The content of the trailer beside the index. */
struct kept {
	struct allo_summary summary;
	struct allo_gaps gaps;
	uint64_t end, is_cut; /* of the summary, as numbers */
};

#define NUMBER(field)  offsetof(struct kept, field)
#define SUMMARY(field) NUMBER(summary.field)

/* The numbers in file order.  New ones go to the end. */
static const size_t numbers[] = {
	SUMMARY(events),
	SUMMARY(allocations),
	SUMMARY(resizes),
	SUMMARY(frees),
	SUMMARY(failed_resizes),
	SUMMARY(unknown_frees),
	SUMMARY(total_bytes),
	SUMMARY(peak_bytes),
	SUMMARY(peak_blocks),
	SUMMARY(peak_ns),
	SUMMARY(end_bytes),
	SUMMARY(end_blocks),
	SUMMARY(threads),
	SUMMARY(stacks),
	SUMMARY(complete_allocations),
	SUMMARY(dropped_events),
	SUMMARY(lost_pages),
	SUMMARY(missing_pages),
	SUMMARY(duration_ns),
	SUMMARY(file_bytes),
	SUMMARY(counts.lost_pages),
	SUMMARY(counts.guessed_frames),
	SUMMARY(counts.failed_stacks),
	SUMMARY(counts.cut_stacks),
	SUMMARY(counts.checked_stacks),
	SUMMARY(counts.different_stacks),
	SUMMARY(counts.own_bytes),
	NUMBER(end),
	NUMBER(is_cut),
	NUMBER(gaps.missing_streams),
	NUMBER(gaps.damaged_pages),
	NUMBER(gaps.unread_pages),
	NUMBER(gaps.missing_stacks),
	SUMMARY(marks), /* from here on since version 3 */
	SUMMARY(own_events),
	SUMMARY(own_units),
	SUMMARY(recorded_allocations),
	SUMMARY(resident.live_bytes), /* from here on may be missing in any version */
	SUMMARY(written_pages),
};

enum {
	NUMBERS = sizeof(numbers) / sizeof(*numbers),
	NUMBERS_3 = NUMBERS - 2, /* of version 3 */
	NUMBERS_LEAST = NUMBERS_3 - 4,
};

static bool add_number(allo_trailer *trailer, uint64_t number)
{
	uint8_t bytes[ALLO_VARINT_MAX];

	return allo_vec_append(trailer, bytes, (size_t)(allo_varint_put(bytes, number) - bytes));
}

bool allo_trailer_add_summary(allo_trailer *trailer, const struct allo_summary *summary,
			      const struct allo_gaps *gaps)
{
	struct kept kept = { *summary, *gaps, summary->end, summary->is_cut };
	uint64_t number;

	if (!add_number(trailer, NUMBERS))
		return false;
	for (size_t i = 0; i < NUMBERS; i++) {
		memcpy(&number, (const char *)&kept + numbers[i], sizeof(number));
		if (!add_number(trailer, number))
			return false;
	}
	return true;
}

static bool take_number(struct allo_text *trailer, uint64_t *number)
{
	const uint8_t *at = (const uint8_t *)trailer->data, *start = at;

	if (!allo_varint_take(&at, at + trailer->len, number))
		return false;
	*trailer = allo_text_from(*trailer, (size_t)(at - start));
	return true;
}

bool allo_trailer_take_summary(struct allo_text *trailer, struct allo_summary *summary,
			       struct allo_gaps *gaps)
{
	struct kept kept = { 0 };
	uint64_t count, number;

	if (!take_number(trailer, &count))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (!take_number(trailer, &number))
			return false;
		if (i < NUMBERS)
			memcpy((char *)&kept + numbers[i], &number, sizeof(number));
	}
	*summary = kept.summary;
	summary->end = (enum allo_wire_end)kept.end;
	summary->is_cut = kept.is_cut != 0;
	if (count < NUMBERS_3)
		summary->recorded_allocations = summary->allocations;
	*gaps = kept.gaps;
	gaps->is_cut = summary->is_cut;
	gaps->missing_pages = summary->missing_pages;
	gaps->dropped_events = summary->dropped_events;
	return count >= NUMBERS_LEAST;
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
