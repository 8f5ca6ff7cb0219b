/*
 * moment.h - a moment between two events of a recording; block_rows.h has what was live then.
 *
 * Many events may have the same time, since a busy thread looks at the clock only now and then: a
 * time alone does not tell.
 */
#ifndef ALLO_REPLAY_MOMENT_H
#define ALLO_REPLAY_MOMENT_H

#include "replay/view.h"
#include "replay/window.h"

struct allo_moment {
	uint64_t born, ended; /* blocks, of all threads, before it */
};

/* When blocks of the wanted threads (by stream; NULL: all) held most, for the first time. */
bool allo_moment_of_peak(struct allo_moment *moment, struct allo_recording *recording,
			 const bool *threads, struct allo_error *err);

/* Behind the last event that is not later than a time. */
bool allo_moment_at(struct allo_moment *moment, struct allo_recording *recording, uint64_t ns,
		    struct allo_error *err);

/* The instant that a view asks for, which has become a window: its end, or the peak of wanted
 * threads. */
bool allo_moment_of_view(struct allo_moment *moment, struct allo_recording *recording,
			 enum allo_instant at, const struct allo_window *window,
			 struct allo_error *err);

#endif
