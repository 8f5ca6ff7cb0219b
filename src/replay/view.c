/* view.c - resolves marks and names of threads against the recording. */
#include "replay/view.h"

#include "base/defer.h"
#include "base/units.h"
#include "replay/heap_cache.h"
#include "replay/recording_profile.h"

#include <stdio.h>

bool allo_view_is_partial(const struct allo_view *view)
{
	return view->from_ns > 0 || view->to_ns > 0 || view->from_mark.len > 0 ||
	       view->to_mark.len > 0 || view->at != ALLO_AT_NONE || view->thread ||
	       view->keeps_first;
}

static bool is_meant(const struct allo_stream *stream, struct allo_text name)
{
	uint64_t number;

	if (stream->kind != ALLO_STREAM_EVENTS)
		return false;
	return allo_text_equal(stream->name, name) ||
	       (allo_text_u64(name, &number) && stream->thread == number);
}

bool allo_view_find_threads(const char *name, const struct allo_recording *recording, bool *threads,
			    struct allo_error *err)
{
	bool is_any = false;

	for (size_t i = 0; i < recording->streams.len; i++) {
		threads[i] = is_meant(&recording->streams.at[i], allo_text_of(name));
		is_any = is_any || threads[i];
	}
	return is_any ||
	       allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = recording->name },
			 "no thread has the number or name %s (see 'allo threads')", name);
}

static bool find_threads(const char *name, struct allo_recording *recording, const bool **threads,
			 struct allo_error *err)
{
	bool *found = allo_arena_alloc(&recording->arena, recording->streams.len + 1,
				       sizeof(*found), 1);

	*threads = found;
	return found ? allo_view_find_threads(name, recording, found, err) : allo_fail_memory(err);
}

/* Lists the names of all marks once, as far as they fit. */
static void list_marks(const struct allo_marks *marks, const struct allo_recording *recording,
		       char *out, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < marks->list.len; i++) {
		struct allo_text name = allo_recording_text(recording, marks->list.at[i].name);

		if (allo_marks_find(marks, recording, name) != &marks->list.at[i])
			continue;
		if (used + name.len + sizeof(", ...") > room) {
			snprintf(out + used, room - used, ", ...");
			return;
		}
		used += (size_t)snprintf(out + used, room - used, "%s%.*s", used > 0 ? ", " : "",
					 (int)name.len, name.data);
	}
}

static bool find_mark(struct allo_text name, const struct allo_marks *marks,
		      const struct allo_recording *recording, uint64_t *ns, struct allo_error *err)
{
	const struct allo_mark *mark = allo_marks_find(marks, recording, name);
	char names[160] = "";

	if (mark) {
		*ns = mark->ns;
		return true;
	}
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = recording->name },
		  "'%.*s' is neither a time nor the name of a mark", ALLO_TEXT_ARG(name));
	list_marks(marks, recording, names, sizeof(names));
	return names[0] ? allo_hint(err, "its marks are %s", names)
			: allo_hint(err, "it has no marks; write a time as 2.5s or 300ms");
}

/* Finds all marks.  The heap of the whole recording, which has them, serves other commands as well.
 */
static bool find_all(struct allo_marks *marks, struct allo_recording *recording, bool use_cache,
		     struct allo_error *err)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	const struct allo_replay whole = { .use_cache = true, .marks = marks };
	const struct allo_gaps gaps = recording->gaps;
	uint64_t loaded = recording->loaded, events;
	bool ok;

	if (!use_cache || recording->chunk_events < ALLO_CACHED_EVENTS_LEAST ||
	    !allo_marks_may_exist(recording))
		return allo_marks_of(marks, recording, NULL, err);
	ok = allo_heap_of_replay(&heap, recording, &whole, &events, err);
	/* As in allo_marks_of(): the command counts them. */
	recording->gaps = gaps;
	recording->loaded = loaded;
	return ok;
}

/* Replaces marks by their times. */
static bool resolve_marks(const struct allo_view *view, struct allo_recording *recording,
			  struct allo_window *window, struct allo_error *err)
{
	ALLO_DEFER(allo_marks_done) struct allo_marks marks = { 0 };

	if (view->from_mark.len == 0 && view->to_mark.len == 0)
		return true;
	if (!find_all(&marks, recording, view->use_cache, err) ||
	    (view->from_mark.len > 0 &&
	     !find_mark(view->from_mark, &marks, recording, &window->from_ns, err)) ||
	    (view->to_mark.len > 0 &&
	     !find_mark(view->to_mark, &marks, recording, &window->to_ns, err)))
		return false;
	/* An instant includes the events at the time of the mark. */
	if (view->at != ALLO_AT_NONE && view->to_mark.len > 0)
		window->to_ns++;
	return window->from_ns < window->to_ns || (window->to_ns == 0 && view->to_mark.len == 0) ||
	       allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = recording->name },
			 "the requested range ends before it starts");
}

/* Of a bounded recording, only the exact part has times. */
static bool check_exact(const struct allo_view *view, const struct allo_recording *recording,
			const struct allo_window *window, struct allo_error *err)
{
	uint64_t exact_ns = allo_recording_exact_ns(recording);
	bool is_instant = view->at == ALLO_AT_PEAK || view->at == ALLO_AT_END;
	uint64_t from_ns = is_instant ? window->to_ns : window->from_ns;
	char time[ALLO_NUMBER_SIZE];

	if ((window->from_ns == 0 && window->to_ns == 0) || from_ns >= exact_ns)
		return true;
	allo_format((struct allo_number){ .magnitude = exact_ns }, ALLO_UNIT_NS, false, time);
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = recording->name },
		  "has events before %s as sums only", time);
	return allo_hint(err, "the earliest possible time is %.6fs",
			 (double)(exact_ns / 1000 + 1) / 1e6);
}

/* When a recording ended; 0 if that is not known: it still grows, or its process was killed. */
static uint64_t end_of(const struct allo_recording *recording)
{
	if (recording->stored_summary)
		return recording->stored_summary->duration_ns;
	return recording->head.end == ALLO_END_NONE ? 0 : allo_recording_duration(recording);
}

/* Nothing happened after the end.  Times may be those of a table, which rounds them. */
static bool check_end(const struct allo_view *view, const struct allo_recording *recording,
		      const struct allo_window *window, struct allo_error *err)
{
	uint64_t end_ns = end_of(recording);
	bool is_instant = view->at == ALLO_AT_END && window->to_ns > 0;
	uint64_t from_ns = is_instant ? window->to_ns - 1 : window->from_ns;
	char time[ALLO_NUMBER_SIZE], from[ALLO_NUMBER_SIZE];

	if (end_ns == 0 || from_ns <= end_ns + end_ns / 100)
		return true;
	allo_format((struct allo_number){ .magnitude = end_ns }, ALLO_UNIT_NS, false, time);
	allo_format((struct allo_number){ .magnitude = from_ns }, ALLO_UNIT_NS, false, from);
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = recording->name },
		  "ends after %s, before %s", time, from);
	return allo_hint(err, "times start with the recording; '--at end' is its end");
}

bool allo_view_resolve(const struct allo_view *view, struct allo_recording *recording,
		       struct allo_replay *replay, struct allo_error *err)
{
	*replay = (struct allo_replay){ .window = { view->from_ns, view->to_ns, NULL },
					.at = view->at,
					.keeps_first = view->keeps_first,
					.use_cache = view->use_cache };
	return resolve_marks(view, recording, &replay->window, err) &&
	       check_exact(view, recording, &replay->window, err) &&
	       check_end(view, recording, &replay->window, err) &&
	       (!view->thread ||
		find_threads(view->thread, recording, &replay->window.threads, err));
}
