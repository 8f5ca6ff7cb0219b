/* timed_rows.c - sorts samples by thread and time and finds the gaps. */
#include "writers/timed_rows.h"

#include "base/assert.h"
#include "base/defer.h"

#include <stdlib.h>

void allo_timed_rows_done(struct allo_timed_rows *timed)
{
	allo_vec_done(&timed->rows);
	allo_vec_done(&timed->threads);
}

static int compare_times(const void *a, const void *b, void *context)
{
	const struct allo_when *times = context;
	const uint32_t *x = a, *y = b;

	if (times[*x].thread != times[*y].thread)
		return times[*x].thread < times[*y].thread ? -1 : 1;
	if (times[*x].start_ns != times[*y].start_ns)
		return times[*x].start_ns < times[*y].start_ns ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* Indices of samples, sorted by thread and time; to be freed. */
static uint32_t *sort_samples(const struct allo_profile *profile)
{
	size_t count = profile->sample_times.len;
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), compare_times, profile->sample_times.at);
	return order;
}

/* Adds the samples of one thread and the gaps between them. */
static bool add_thread(struct allo_timed_rows *timed, const struct allo_when *times,
		       const uint32_t *order, size_t count)
{
	struct allo_timed_thread thread = { .id = times[order[0]].thread,
					    .first = timed->rows.len };

	for (size_t i = 0; i < count; i++)
		thread.has_durations |= times[order[i]].duration_ns > 0;
	for (size_t i = 0; i < count; i++) {
		const struct allo_when *when = &times[order[i]];
		const struct allo_when *next = i + 1 < count ? &times[order[i + 1]] : NULL;
		uint64_t until_next = next ? next->start_ns - when->start_ns : when->duration_ns;
		uint64_t late = next && next->going_on > 0 ? 0 : when->duration_ns / 2;
		struct allo_timed_row row = { order[i], when->start_ns, until_next };
		struct allo_timed_row gap = { .sample = ALLO_TIMED_GAP };

		if (thread.has_durations && until_next > when->duration_ns &&
		    until_next - when->duration_ns > late) {
			row.length_ns = when->duration_ns;
			gap.start_ns = row.start_ns + row.length_ns;
			gap.length_ns = until_next - row.length_ns;
		}
		ALLO_ASSERT(!next || next->start_ns >= when->start_ns);
		if (!allo_vec_append(&timed->rows, &row, 1) ||
		    (gap.length_ns > 0 && !allo_vec_append(&timed->rows, &gap, 1)))
			return false;
	}
	thread.count = timed->rows.len - thread.first;
	return allo_vec_append(&timed->threads, &thread, 1);
}

bool allo_timed_rows_init(struct allo_timed_rows *timed, const struct allo_profile *profile,
			  struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) uint32_t *order = sort_samples(profile);
	const struct allo_when *times = profile->sample_times.at;
	size_t count = profile->sample_times.len, first = 0;

	if (!order)
		return allo_fail_memory(err);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && times[order[i]].thread == times[order[first]].thread)
			continue;
		if (!add_thread(timed, times, order + first, i - first))
			return allo_fail_memory(err);
		first = i;
	}
	return true;
}
