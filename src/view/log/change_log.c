/* change_log.c - the life of a log, and searches by time. */
#include "view/log/change_log.h"

#include "view/log/change_log_segment.h"

#include <stdlib.h>

void allo_change_log_done(struct allo_change_log *log)
{
	for (size_t i = 0; i < log->segments.len; i++)
		allo_log_segment_done(&log->segments.at[i]);
	for (size_t i = 0; i < log->states.len; i++)
		free(log->states.at[i].bytes);
	allo_vec_done(&log->segments);
	allo_vec_done(&log->states);
	allo_vec_done(&log->asides);
	allo_vec_done(&log->sites);
	allo_vec_done(&log->large_sizes);
	allo_marks_done(&log->marks);
	allo_site_keys_done(&log->keys);
	allo_vec_done(&log->stored);
	*log = (struct allo_change_log){ 0 };
}

uint64_t allo_change_log_bytes(const struct allo_change_log *log)
{
	return log->bytes + log->segments.cap * sizeof(*log->segments.at) +
	       log->states.cap * sizeof(*log->states.at) +
	       log->asides.cap * sizeof(*log->asides.at) + log->sites.cap * sizeof(*log->sites.at) +
	       log->large_sizes.cap * sizeof(*log->large_sizes.at) +
	       log->marks.list.cap * sizeof(*log->marks.list.at) +
	       log->keys.at.cap * sizeof(*log->keys.at.at) + log->stored.cap;
}

struct allo_log_state *allo_log_add_state(struct allo_change_log *log, uint32_t segment,
					  size_t site_count, struct allo_error *err)
{
	struct allo_log_state *state = allo_vec_push(&log->states);

	if (!state) {
		allo_fail_memory(err);
		return NULL;
	}
	*state = (struct allo_log_state){ segment, (uint32_t)site_count, NULL, NULL };
	/* One more: calloc(0) may return NULL. */
	state->bytes = calloc(site_count + 1, sizeof(*state->bytes) + sizeof(*state->blocks));
	if (!state->bytes) {
		allo_fail_memory(err);
		return NULL;
	}
	state->blocks = (uint32_t *)(state->bytes + site_count);
	log->bytes += site_count * (sizeof(*state->bytes) + sizeof(*state->blocks));
	return state;
}

size_t allo_log_segment_at(const struct allo_change_log *log, uint64_t ns)
{
	size_t low = 0, high = log->segments.len;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (log->segments.at[middle].first_ns < ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct allo_log_place allo_log_find(const struct allo_change_log *log, uint64_t ns)
{
	size_t segment = allo_log_segment_at(log, ns);

	ALLO_ASSERT(log->segments.len > 0);
	return (struct allo_log_place){ segment,
					allo_segment_before(&log->segments.at[segment], ns) };
}

struct allo_log_place allo_log_end(const struct allo_change_log *log, uint64_t ns)
{
	size_t last = log->segments.len - 1;

	ALLO_ASSERT(log->segments.len > 0);
	if (ns > 0)
		return allo_log_find(log, ns);
	return (struct allo_log_place){ last, log->segments.at[last].shape.count };
}

uint64_t allo_log_birth(const struct allo_change_log *log, uint32_t made)
{
	uint32_t number = made & ~ALLO_LOG_INHERITS;

	return allo_segment_birth(&log->segments.at[number / ALLO_SEGMENT_CHANGES],
				  number % ALLO_SEGMENT_CHANGES);
}

size_t allo_log_find_aside(const struct allo_change_log *log, uint64_t ns)
{
	size_t low = 0, high = log->asides.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (log->asides.at[middle].ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t allo_log_last_before(const struct allo_change_log *log, uint64_t to_ns)
{
	struct allo_log_place place;
	uint64_t ns = 0;
	size_t asides;

	if (to_ns == 0 || log->last_ns < to_ns)
		return log->last_ns;
	asides = allo_log_find_aside(log, to_ns);
	if (asides > 0)
		ns = log->asides.at[asides - 1].ns;
	if (log->segments.len == 0)
		return ns;
	place = allo_log_find(log, to_ns);
	if (place.at > 0) {
		uint64_t last = allo_segment_ns(&log->segments.at[place.segment], place.at - 1);

		ns = last > ns ? last : ns;
	}
	return ns;
}
