/*
 * marks.h - marks: points in time that the recorded program, or 'allo mark', has named.
 */
#ifndef ALLO_REPLAY_MARKS_H
#define ALLO_REPLAY_MARKS_H

#include "replay/window.h"

struct allo_mark {
	uint64_t ns;
	uint32_t stream; /* of the thread that set it */
	uint32_t name;   /* a text of the recording */
};

/* All zeros is empty. */
struct allo_marks {
	ALLO_VEC(struct allo_mark) list; /* in time order */
};

void allo_marks_done(struct allo_marks *marks);

/* Adds the marks among events, which come in time order. */
bool allo_marks_take(struct allo_marks *marks, const struct allo_event_span *span,
		     struct allo_error *err);

/* Whether the recording may have marks. */
bool allo_marks_may_exist(const struct allo_recording *recording);

/* Finds the marks of a window; NULL stands for the whole recording.  Reads all events if there are
 * any marks. */
bool allo_marks_of(struct allo_marks *marks, struct allo_recording *recording,
		   const struct allo_window *window, struct allo_error *err);

/* The first mark with a name, or NULL. */
const struct allo_mark *allo_marks_find(const struct allo_marks *marks,
					const struct allo_recording *recording,
					struct allo_text name);

#endif
