/* change_log_walk.c - hands on the changes of a range one by one. */
#include "base/defer.h"
#include "view/log/change_log_stored.h"
#include "view/log/live_changes.h"

#include <stdlib.h>

enum { CHANGES_AT_ONCE = 256 };

/* The part of a segment that is read. */
struct part {
	const struct allo_change_log *log;
	struct allo_log_reader reader;
	uint32_t first, from; /* number of the segment's first change; position of the part's */
	uint64_t *times;      /* of its changes so far, by position */
};

/* The birth of the block that a change ends.  Most blocks live shortly: then it was just read. */
static uint64_t birth_of(const struct part *part, uint32_t at)
{
	const struct allo_log_segment *segment = part->reader.segment;
	uint32_t ref = segment->refs[at];

	if (!allo_log_bit(segment->imported, at) && ref <= at - part->from)
		return part->times[at - ref];
	return allo_log_birth(part->log, allo_log_made_number(segment, part->first, at));
}

static void set_change(struct part *part, uint32_t at, struct allo_change *change)
{
	const struct allo_change_log *log = part->log;
	struct allo_log_reader *reader = &part->reader;
	const struct allo_log_segment *segment = reader->segment;
	uint32_t class = allo_segment_class(segment, at), row;
	bool is_ended = allo_log_bit(segment->ended, at);

	part->times[at] = reader->ns;

	*change = (struct allo_change){
		.ns = reader->ns,
		.birth_ns = reader->ns,
		.size = allo_log_size(log, segment->class_sizes[class]),
		.site = log->sites.at[segment->class_sites[class]],
		.stream = allo_segment_stream(segment, at),
		.maker = allo_segment_maker(segment, at),
		.flags = (is_ended ? ALLO_CHANGE_ENDED : 0) |
			 (allo_log_bit(segment->resized, at) ? ALLO_CHANGE_RESIZED : 0) |
			 (allo_log_bit(segment->temporary, at) ? ALLO_CHANGE_TEMPORARY : 0),
	};
	if (is_ended)
		change->birth_ns = birth_of(part, at);
	else if (allo_log_reader_inherits(reader, at, &row))
		change->birth_ns = segment->inherited_births[row];
}

static bool walk_part(struct part *part, uint32_t to, allo_take_changes *take, void *context,
		      struct allo_error *err)
{
	struct allo_change changes[CHANGES_AT_ONCE];
	size_t count = 0;

	for (uint32_t i = part->from; i < to; i++) {
		allo_log_reader_advance(&part->reader, i);
		set_change(part, i, &changes[count++]);
		if (count < CHANGES_AT_ONCE && i + 1 < to)
			continue;
		if (!take(context, changes, count, err))
			return false;
		count = 0;
	}
	return true;
}

static struct allo_change made_by(const struct allo_change_log *log, uint32_t number)
{
	const struct allo_log_segment *segment = &log->segments.at[number / ALLO_SEGMENT_CHANGES];
	uint32_t at = number % ALLO_SEGMENT_CHANGES, class = allo_segment_class(segment, at);
	uint64_t birth_ns = allo_log_birth(log, number);

	return (struct allo_change){
		.ns = birth_ns,
		.birth_ns = birth_ns,
		.size = allo_log_size(log, segment->class_sizes[class]),
		.site = log->sites.at[segment->class_sites[class]],
		.stream = allo_segment_stream(segment, at),
		.maker = allo_segment_stream(segment, at),
	};
}

bool allo_change_log_live_blocks(const struct allo_change_log *log, uint64_t ns,
				 allo_take_changes *take, void *context, struct allo_error *err)
{
	ALLO_DEFER(allo_live_changes_done) struct allo_live_changes live = { 0 };
	struct allo_change changes[CHANGES_AT_ONCE];
	size_t count = 0;

	if (log->segments.len == 0)
		return true;
	if (!allo_log_need(log, 0, allo_log_segment_at(log, ns > 0 ? ns : UINT64_MAX), err) ||
	    !allo_live_changes_at(&live, log, allo_log_end(log, ns), err))
		return false;
	for (uint32_t i = 0; allo_live_changes_next(&live, &i); i++) {
		changes[count++] = made_by(log, i);
		if (count < CHANGES_AT_ONCE)
			continue;
		if (!take(context, changes, count, err))
			return false;
		count = 0;
	}
	return count == 0 || take(context, changes, count, err);
}

bool allo_change_log_walk(const struct allo_change_log *log, uint64_t from_ns, uint64_t to_ns,
			  allo_take_changes *take, void *context, struct allo_error *err)
{
	struct part part = { .log = log };
	ALLO_DEFER(allo_free_pointer) uint64_t *times = NULL;
	struct allo_log_place from, to;

	if (log->segments.len == 0)
		return true;
	/* Blocks that end may have been made in any segment before. */
	if (!allo_log_need(log, 0, log->segments.len - 1, err))
		return false;
	part.times = times = calloc(ALLO_SEGMENT_CHANGES, sizeof(*times));
	if (!times)
		return allo_fail_memory(err);
	from = allo_log_find(log, from_ns);
	to = allo_log_end(log, to_ns);
	for (size_t i = from.segment; i <= to.segment; i++) {
		const struct allo_log_segment *segment = &log->segments.at[i];

		part.first = (uint32_t)(i * ALLO_SEGMENT_CHANGES);
		part.from = i == from.segment ? from.at : 0;
		part.reader = allo_log_reader_at(segment, part.from);
		if (!walk_part(&part, i == to.segment ? to.at : segment->shape.count, take, context,
			       err))
			return false;
	}
	return true;
}
