/* change_log_walk.c - hands on the changes of a range one by one. */
#include "view/change_log_stored.h"
#include "view/live_changes.h"

enum { CHANGES_AT_ONCE = 256 };

static void set_change(const struct allo_change_log *log, struct allo_log_reader *reader,
		       uint32_t first, uint32_t at, struct allo_change *change)
{
	const struct allo_log_segment *segment = reader->segment;
	uint32_t class = allo_segment_class(segment, at), row;
	bool is_ended = allo_log_bit(segment->ended, at);

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
		change->birth_ns = allo_log_birth(log, allo_log_made_number(segment, first, at));
	else if (allo_log_reader_inherits(reader, at, &row))
		change->birth_ns = segment->inherited_births[row];
}

/* Hands on a part of a segment. */
static bool walk_part(const struct allo_change_log *log, size_t index, uint32_t from, uint32_t to,
		      allo_take_changes *take, void *context, struct allo_error *err)
{
	struct allo_log_reader reader = allo_log_reader_at(&log->segments.at[index], from);
	uint32_t first = (uint32_t)(index * ALLO_SEGMENT_CHANGES);
	struct allo_change changes[CHANGES_AT_ONCE];
	size_t count = 0;

	for (uint32_t i = from; i < to; i++) {
		allo_log_reader_advance(&reader, i);
		set_change(log, &reader, first, i, &changes[count++]);
		if (count < CHANGES_AT_ONCE && i + 1 < to)
			continue;
		if (!take(context, changes, count, err))
			return false;
		count = 0;
	}
	return true;
}

bool allo_change_log_walk(const struct allo_change_log *log, uint64_t from_ns, uint64_t to_ns,
			  allo_take_changes *take, void *context, struct allo_error *err)
{
	struct allo_log_place from, to;

	if (log->segments.len == 0)
		return true;
	/* Blocks that end may have been made in any segment before. */
	if (!allo_log_need(log, 0, log->segments.len - 1, err))
		return false;
	from = allo_log_find(log, from_ns);
	to = allo_log_end(log, to_ns);
	for (size_t i = from.segment; i <= to.segment; i++) {
		uint32_t count = log->segments.at[i].shape.count;

		if (!walk_part(log, i, i == from.segment ? from.at : 0,
			       i == to.segment ? to.at : count, take, context, err))
			return false;
	}
	return true;
}
