/*
 * moment.h - a moment between two events of a recording, and which blocks are live then.
 *
 * Many events may have the same time, since a busy thread looks at the clock only now and then: a
 * time alone does not tell.
 */
#ifndef ALLO_REPLAY_MOMENT_H
#define ALLO_REPLAY_MOMENT_H

#include "replay/block_rows.h"

struct allo_moment {
	uint64_t born, ended; /* blocks, of all threads, before it */
};

/* When blocks of the wanted threads (by stream; NULL: all) held most, for the first time. */
bool allo_moment_of_peak(struct allo_moment *moment, struct allo_recording *recording,
			 const bool *threads, struct allo_error *err);

/* Behind the last event that is not later than a time. */
bool allo_moment_at(struct allo_moment *moment, struct allo_recording *recording, uint64_t ns,
		    struct allo_error *err);

/* Whether a block is live then, which is the one of that index among all rows as block_rows.h hands
 * them on: they come in the order in which blocks end. */
static inline bool allo_moment_has(const struct allo_moment *moment,
				   const struct allo_block_row *row, uint64_t index)
{
	return row->number <= moment->born && index >= moment->ended;
}

#endif
