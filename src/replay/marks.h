/*
 * marks.h - the moments that a recorded program has given names to.
 */
#ifndef ALLO_REPLAY_MARKS_H
#define ALLO_REPLAY_MARKS_H

#include "replay/window.h"

struct allo_mark {
	uint64_t ns;
	uint32_t stream; /* of the thread that has set it */
	uint32_t name;   /* a text of the recording */
};

/* All zeros: none, and nothing to drop. */
struct allo_marks {
	ALLO_VEC(struct allo_mark) list; /* in the order of time */
};

void allo_marks_done(struct allo_marks *marks);

/* Takes events in the order of time; those of other kinds do nothing. */
bool allo_marks_take(struct allo_marks *marks, const struct allo_event_span *span,
		     struct allo_error *err);

/* Those of a window, which may be NULL for everything; a pass over all events, if there are any
 * marks. */
bool allo_marks_of(struct allo_marks *marks, struct allo_recording *recording,
		   const struct allo_window *window, struct allo_error *err);

/* The first of that name, or NULL. */
const struct allo_mark *allo_marks_find(const struct allo_marks *marks,
					const struct allo_recording *recording,
					struct allo_text name);

#endif
