/* view.c - see view.h. */
#include "replay/view.h"

#include "replay/recording_profile.h"

bool allo_view_is_partial(const struct allo_view *view)
{
	return view->from_ns > 0 || view->to_ns > 0 || view->at != ALLO_AT_NONE || view->thread ||
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

static bool find_threads(const char *name, struct allo_recording *recording, const bool **threads,
			 struct allo_error *err)
{
	size_t count = recording->streams.len;
	bool *found = allo_arena_alloc(&recording->arena, count + 1, sizeof(*found), 1);
	bool is_any = false;

	if (!found)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		found[i] = is_meant(&recording->streams.at[i], allo_text_of(name));
		is_any = is_any || found[i];
	}
	*threads = found;
	return is_any || allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = recording->name },
				   "no thread has the number or the name %s", name);
}

bool allo_view_resolve(const struct allo_view *view, struct allo_recording *recording,
		       struct allo_replay *replay, struct allo_error *err)
{
	*replay = (struct allo_replay){ .window = { view->from_ns, view->to_ns, NULL },
					.at = view->at,
					.keeps_first = view->keeps_first };
	return !view->thread || find_threads(view->thread, recording, &replay->window.threads, err);
}
