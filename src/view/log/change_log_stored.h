/*
 * change_log_stored.h - a change log as bytes, for a cache and for the index of a recording.
 *
 * The bytes are a struct allo_stored_log and these arrays: segments, sums of all segments, states,
 * live bytes and live blocks of all states, asides, large sizes, keys, marks, sites.  Frames of
 * zstd follow, with the columns of each segment.  Integers are in the byte order of the machine.
 *
 * Reading a log takes what every window needs.  The columns of a segment are unpacked and checked
 * when a window needs them.
 */
#ifndef ALLO_VIEW_CHANGE_LOG_STORED_H
#define ALLO_VIEW_CHANGE_LOG_STORED_H

#include "view/log/change_log_segment.h"

/* Raise it when the layout changes, or the way of counting: indexes of other versions are ignored.
 */
enum { ALLO_LOG_VERSION = 1 };

/* The numbers of items of each array, and fields of struct allo_change_log. */
struct allo_stored_log {
	uint64_t segments, sums, states, state_sites, asides, large_sizes, keys, marks, sites;
	uint64_t keeps_first, has_retired, is_walked;
	uint64_t event_count, last_ns, end_ns;
};

/* The fields of struct allo_log_segment with these names. */
#define ALLO_STORED_SEGMENT(field)                                                                 \
	field(first_ns) field(last_ns) field(bytes) field(blocks) field(end_bytes)                 \
		field(end_blocks) field(max_bytes) field(max_blocks) field(max_after) field(made)  \
			field(resizes) field(ended_by_resize) field(alloc_bytes)

#define ALLO_STORED_FIELD(name) uint64_t name;

struct allo_stored_segment {
	struct allo_log_shape shape;
	ALLO_STORED_SEGMENT(ALLO_STORED_FIELD)
	uint64_t packed_bytes;
};

struct allo_stored_state {
	uint32_t segment, site_count;
};

/* Reads a log for a recording.  The bytes must stay as long as the log.  False if they are invalid
 * (err says nothing then) or if memory is short. */
bool allo_change_log_read(struct allo_change_log *log, const struct allo_recording *recording,
			  struct allo_text bytes, struct allo_error *err);

/* Unpacks the columns of segments [from, to], where they are still packed. */
bool allo_log_need(const struct allo_change_log *log, size_t from, size_t to,
		   struct allo_error *err);

/* Records that a stored log contradicts itself.  Returns false. */
bool allo_log_fail_damaged(const struct allo_change_log *log, struct allo_error *err);

#endif
