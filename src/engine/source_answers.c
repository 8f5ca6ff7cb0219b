/* source_answers.c - asks the caches first, and replays only if none of them knows. */
#include "engine/source_answers.h"

#include "base/assert.h"
#include "base/defer.h"
#include "engine/window_heap.h"

/* The heap over time. */

static bool is_whole(const struct allo_window *window)
{
	return window->from_ns == 0 && window->to_ns == 0 && !window->threads;
}

/* Sums by site cost little on top, and serve the next command. */
static bool is_cached_whole(const struct allo_source *source)
{
	return source->replay.use_cache && is_whole(&source->replay.window) &&
	       source->recording.chunk_events >= ALLO_CACHED_EVENTS_LEAST;
}

static bool make_timeline(struct allo_source *source, struct allo_timeline *timeline,
			  struct allo_marks *marks, struct allo_error *err)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_recording *recording = &source->recording;
	struct allo_replay replay = source->replay;
	uint64_t events;

	replay.timeline = timeline;
	replay.marks = marks;
	if (allo_window_heap(&heap, recording, &replay))
		return true;
	if (is_cached_whole(source))
		return allo_heap_of_replay(&heap, recording, &replay, &events, err);
	return allo_timeline_of(timeline, recording, &replay.window, err) &&
	       allo_marks_of(marks, recording, &replay.window, err);
}

bool allo_source_timeline(struct allo_source *source, struct allo_timeline *timeline,
			  struct allo_marks *marks, struct allo_error *err)
{
	bool ok = make_timeline(source, timeline, marks, err);

	timeline->peak_ns = allo_window_peak_ns(&source->replay.window, &source->recording,
						timeline->peak_bytes, timeline->peak_ns);
	allo_source_end_progress(source);
	return ok;
}

/* Bytes of answers. */

static bool put(allo_cache_bytes *bytes, const void *more, size_t len)
{
	return len == 0 || allo_vec_append(bytes, (const char *)more, len);
}

/* Moves bytes from the front of a text; false if it is too short. */
static bool take(struct allo_text *text, void *to, uint64_t count, size_t size)
{
	if (count > text->len / size)
		return false;
	if (count > 0)
		memcpy(to, text->data, count * size);
	*text = allo_text_from(*text, (size_t)count * size);
	return true;
}

static struct allo_text text_of(const allo_cache_bytes *bytes)
{
	return (struct allo_text){ bytes->at, bytes->len };
}

/* Threads. */

bool allo_thread_totals_fill(struct allo_thread_totals *totals,
			     const struct allo_recording *recording, struct allo_text text)
{
	size_t count = recording->streams.len;

	return take(&text, &totals->peak_bytes, 1, sizeof(totals->peak_bytes)) &&
	       take(&text, &totals->peak_ns, 1, sizeof(totals->peak_ns)) &&
	       text.len == count * sizeof(*totals->threads.at) &&
	       allo_vec_cover(&totals->threads, count) &&
	       take(&text, totals->threads.at, count, sizeof(*totals->threads.at));
}

static void store_totals(const struct allo_thread_totals *totals,
			 const struct allo_question *question)
{
	allo_cache_bytes bytes = { 0 };

	if (put(&bytes, &totals->peak_bytes, sizeof(totals->peak_bytes)) &&
	    put(&bytes, &totals->peak_ns, sizeof(totals->peak_ns)) &&
	    put(&bytes, totals->threads.at, totals->threads.len * sizeof(*totals->threads.at)))
		allo_answer_store(question, &bytes);
	allo_vec_done(&bytes);
}

static bool find_totals(struct allo_source *source, struct allo_thread_totals *totals,
			struct allo_error *err)
{
	const struct allo_question question = allo_question_of(source, "threads");
	allo_cache_bytes bytes = { 0 };
	bool is_found = allo_answer_load(&question, &bytes) &&
			allo_thread_totals_fill(totals, &source->recording, text_of(&bytes));

	allo_vec_done(&bytes);
	if (is_found)
		return true;
	allo_thread_totals_done(totals);
	*totals = (struct allo_thread_totals){ 0 };
	if (!allo_thread_totals_of(totals, &source->recording, &source->replay.window, err))
		return false;
	store_totals(totals, &question);
	return true;
}

bool allo_source_thread_totals(struct allo_source *source, struct allo_thread_totals *totals,
			       struct allo_error *err)
{
	bool ok = find_totals(source, totals, err);

	totals->peak_ns = allo_window_peak_ns(&source->replay.window, &source->recording,
					      totals->peak_bytes, totals->peak_ns);
	allo_source_end_progress(source);
	return ok;
}

/* Groups. */

/* A timeline without its steps. */
struct stored_timeline {
	uint64_t from_ns, step_ns, end_ns, peak_bytes, peak_blocks, peak_ns, bytes, blocks, steps;
};

static bool read_timeline(struct allo_timeline *timeline, struct allo_text *text)
{
	struct stored_timeline stored;

	if (!take(text, &stored, 1, sizeof(stored)) || stored.steps == 0 ||
	    stored.steps > timeline->most || stored.step_ns == 0 ||
	    stored.steps > text->len / sizeof(*timeline->steps.at) ||
	    !allo_vec_cover(&timeline->steps, (size_t)stored.steps))
		return false;
	timeline->from_ns = stored.from_ns;
	timeline->step_ns = stored.step_ns;
	timeline->end_ns = stored.end_ns;
	timeline->peak_bytes = stored.peak_bytes;
	timeline->peak_blocks = stored.peak_blocks;
	timeline->peak_ns = stored.peak_ns;
	timeline->bytes = stored.bytes;
	timeline->blocks = stored.blocks;
	return take(text, timeline->steps.at, stored.steps, sizeof(*timeline->steps.at));
}

static bool have_equal_steps(const struct allo_timeline *one, const struct allo_timeline *other)
{
	return one->steps.len == other->steps.len && one->step_ns == other->step_ns &&
	       one->from_ns == other->from_ns;
}

static bool put_timeline(const struct allo_timeline *timeline, allo_cache_bytes *bytes)
{
	const struct stored_timeline stored = {
		timeline->from_ns,    timeline->step_ns,     timeline->end_ns,
		timeline->peak_bytes, timeline->peak_blocks, timeline->peak_ns,
		timeline->bytes,      timeline->blocks,      timeline->steps.len,
	};

	return put(bytes, &stored, sizeof(stored)) &&
	       put(bytes, timeline->steps.at, stored.steps * sizeof(*timeline->steps.at));
}

bool allo_split_timeline_fill(struct allo_split_timeline *split,
			      const struct allo_recording *recording, struct allo_text text)
{
	for (size_t i = 0; i < split->count; i++) {
		split->groups[i].weighing = allo_weighing_of(recording);
		if (!read_timeline(&split->groups[i], &text) ||
		    !have_equal_steps(&split->groups[i], &split->groups[0]))
			return false;
	}
	return text.len == 0;
}

/* A file that was read in part leaves numbers behind. */
static void clear_groups(struct allo_split_timeline *split)
{
	for (size_t i = 0; i < split->count; i++) {
		size_t most = split->groups[i].most;

		allo_timeline_done(&split->groups[i]);
		split->groups[i] = (struct allo_timeline){ .most = most };
	}
}

static void store_groups(const struct allo_split_timeline *split,
			 const struct allo_question *question)
{
	allo_cache_bytes bytes = { 0 };
	bool ok = true;

	for (size_t i = 0; i < split->count && ok; i++)
		ok = put_timeline(&split->groups[i], &bytes);
	if (ok)
		allo_answer_store(question, &bytes);
	allo_vec_done(&bytes);
}

bool allo_source_split_timeline(struct allo_source *source, struct allo_split_timeline *split,
				struct allo_question *question, struct allo_error *err)
{
	const uint64_t how[] = { split->count, split->groups[0].most, split->by_thread,
				 split->keeps_first };
	allo_cache_bytes bytes = { 0 };
	bool is_found;

	ALLO_ASSERT(split->count > 0 && split->groups[0].most > 0);
	allo_question_add(question, how, sizeof(how));
	is_found = allo_answer_load(question, &bytes) &&
		   allo_split_timeline_fill(split, &source->recording, text_of(&bytes));
	allo_vec_done(&bytes);
	if (is_found)
		return true;
	clear_groups(split);
	if (!allo_split_timeline_of(split, &source->recording, &source->replay.window, err))
		return false;
	store_groups(split, question);
	return true;
}
