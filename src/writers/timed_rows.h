/*
 * timed_rows.h - samples with times, thread by thread and in the order of time, with what was
 * between them.
 *
 * A sample lasts until the next one of its thread, unless more than half of its own duration passes
 * before that: then there is a gap.  So there is where it is known which calls go on, as these have
 * been measured.  Where samples have no durations there are no gaps.
 */
#ifndef ALLO_WRITERS_TIMED_ROWS_H
#define ALLO_WRITERS_TIMED_ROWS_H

#include "profile/profile.h"

#define ALLO_TIMED_GAP UINT32_MAX

struct allo_timed_row {
	uint32_t sample; /* ALLO_TIMED_GAP for none */
	uint64_t start_ns, length_ns;
};

struct allo_timed_thread {
	allo_thread_id id;
	size_t first, count; /* of rows[] */
	bool has_durations;
};

/* All zeros: nothing. */
struct allo_timed_rows {
	ALLO_VEC(struct allo_timed_row) rows;
	ALLO_VEC(struct allo_timed_thread) threads; /* by id */
};

bool allo_timed_rows_init(struct allo_timed_rows *timed, const struct allo_profile *profile,
			  struct allo_error *err);
void allo_timed_rows_done(struct allo_timed_rows *timed);

#endif
