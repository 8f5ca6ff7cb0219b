/*
 * source_answers.h - the heap over time and by thread, of the view of a recording: from caches if
 * they have it, else from a replay that fills them.
 */
#ifndef ALLO_ENGINE_SOURCE_ANSWERS_H
#define ALLO_ENGINE_SOURCE_ANSWERS_H

#include "engine/cache/answer_cache.h"
#include "replay/split_timeline.h"
#include "replay/thread_totals.h"

/* Fills a timeline, whose `most` is set, and the marks of the view. */
bool allo_source_timeline(struct allo_source *source, struct allo_timeline *timeline,
			  struct allo_marks *marks, struct allo_error *err);

bool allo_source_thread_totals(struct allo_source *source, struct allo_thread_totals *totals,
			       struct allo_error *err);

/* Timelines of groups.  `question` holds all that decides the group of a site. */
bool allo_source_split_timeline(struct allo_source *source, struct allo_split_timeline *split,
				struct allo_question *question, struct allo_error *err);

/* Fill such answers from the bytes of a cached one, whose key and checksum are not checked; false
 * if they are wrong.  For fuzzers. */
bool allo_thread_totals_fill(struct allo_thread_totals *totals,
			     const struct allo_recording *recording, struct allo_text bytes);
bool allo_split_timeline_fill(struct allo_split_timeline *split,
			      const struct allo_recording *recording, struct allo_text bytes);

#endif
