/* marks.c - collects marks while events are read, and finds one by its name. */
#include "replay/recording/marks.h"

#include "base/defer.h"
#include "replay/summary.h"

void allo_marks_done(struct allo_marks *marks)
{
	allo_vec_done(&marks->list);
}

bool allo_marks_take(struct allo_marks *marks, const struct allo_event_span *span,
		     struct allo_error *err)
{
	for (size_t i = 0; i < span->count; i++) {
		const struct allo_event *event = &span->events[i];
		struct allo_mark mark = { event->ns, event->stream, (uint32_t)event->note };

		if (event->kind == ALLO_EVENT_MARK && !allo_vec_append(&marks->list, &mark, 1))
			return allo_fail_memory(err);
	}
	return true;
}

/* Each has a name, and a packed recording stores their number. */
bool allo_marks_may_exist(const struct allo_recording *recording)
{
	return recording->texts.len > 0 &&
	       (!recording->stored_summary || recording->stored_summary->marks > 0);
}

static bool read_marks(struct allo_marks *marks, struct allo_recording *recording,
		       const struct allo_window *window, struct allo_error *err)
{
	ALLO_DEFER(allo_window_close) struct allo_window_events events = { 0 };
	struct allo_event_span span;
	bool is_inside;

	if (!allo_window_open(&events, recording, window, err))
		return false;
	while (allo_window_next(&events, &span, &is_inside, err)) {
		if (is_inside && !allo_marks_take(marks, &span, err))
			return false;
	}
	return !allo_failed(err);
}

bool allo_marks_of(struct allo_marks *marks, struct allo_recording *recording,
		   const struct allo_window *window, struct allo_error *err)
{
	struct allo_gaps gaps = recording->gaps;
	uint64_t loaded = recording->loaded;
	bool ok = !allo_marks_may_exist(recording) || read_marks(marks, recording, window, err);

	/* Gaps and progress count once, when the events are replayed. */
	recording->gaps = gaps;
	recording->loaded = loaded;
	return ok;
}

const struct allo_mark *allo_marks_find(const struct allo_marks *marks,
					const struct allo_recording *recording,
					struct allo_text name)
{
	for (size_t i = 0; i < marks->list.len; i++) {
		if (allo_text_equal(allo_recording_text(recording, marks->list.at[i].name), name))
			return &marks->list.at[i];
	}
	return NULL;
}
