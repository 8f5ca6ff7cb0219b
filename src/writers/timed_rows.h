/*
 * timed_rows.h - samples with times, by thread and time, and the gaps between them.
 *
 * A sample lasts until the next one of its thread, unless more than half of its duration passes
 * after its end: then a gap follows.  If the next sample continues measured calls (going_on), any
 * pause is a gap.  Samples without durations have no gaps.
 */
#ifndef ALLO_WRITERS_TIMED_ROWS_H
#define ALLO_WRITERS_TIMED_ROWS_H

#include "profile/profile.h"

#define ALLO_TIMED_GAP UINT32_MAX

struct allo_timed_row {
	uint32_t sample; /* or ALLO_TIMED_GAP */
	uint64_t start_ns, length_ns;
};

struct allo_timed_thread {
	allo_thread_id id;
	size_t first, count; /* in rows[] */
	bool has_durations;
};

/* All zeros is empty. */
struct allo_timed_rows {
	ALLO_VEC(struct allo_timed_row) rows;
	ALLO_VEC(struct allo_timed_thread) threads; /* sorted by id */
};

bool allo_timed_rows_init(struct allo_timed_rows *timed, const struct allo_profile *profile,
			  struct allo_error *err);
void allo_timed_rows_done(struct allo_timed_rows *timed);

#endif
