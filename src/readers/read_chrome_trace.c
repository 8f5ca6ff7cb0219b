/*
 * read_chrome_trace.c - Chrome's trace events, as many programs write them.
 *
 * Events may come in any order, so all of them are read first.  Then each thread's calls are gone
 * through in the order of time: beginnings and ends, which are in the order of the file where times
 * are equal, merged with calls that came as a whole, of which the longer is outside of the shorter
 * one.
 */
#include "base/defer.h"
#include "readers/call_times.h"
#include "readers/chrome_events.h"

#include <stdlib.h>

/* A call that has begun. */
struct open_call {
	int64_t end_ns; /* of one that came as a whole */
	uint32_t name;
	bool is_whole;
};

/* Of a thread. */
struct events {
	struct allo_chrome_event *at, *end;
};

/* Those of all threads. */
struct grouped {
	ALLO_VEC(struct allo_chrome_event) events;
	ALLO_VEC(size_t) ends; /* of a thread's events, by thread */
};

struct reading {
	struct allo_chrome_events events;
	struct grouped marks, calls;
	struct allo_call_times times;
	/* Of the thread at hand. */
	ALLO_VEC(struct open_call) open;
	size_t open_marks; /* those of them that began with a mark */
	ALLO_VEC(struct allo_chrome_event *) begun;
};

static void reading_done(struct reading *reading)
{
	allo_chrome_events_done(&reading->events);
	allo_vec_done(&reading->marks.events);
	allo_vec_done(&reading->marks.ends);
	allo_vec_done(&reading->calls.events);
	allo_vec_done(&reading->calls.ends);
	allo_call_times_done(&reading->times);
	allo_vec_done(&reading->open);
	allo_vec_done(&reading->begun);
}

static void note(struct reading *reading, enum allo_note kind)
{
	allo_note(&reading->times.profile->notes, kind, ALLO_NOWHERE);
}

/* Order. */

static int compare_events(const void *a, const void *b)
{
	const struct allo_chrome_event *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	/* Beginnings have no ends yet: these are calls that came as a whole. */
	if (x->end_ns != y->end_ns && !x->is_end && !y->is_end)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Mostly they are in order. */
static void sort_thread(struct events events)
{
	for (struct allo_chrome_event *at = events.at; at + 1 < events.end; at++) {
		if (compare_events(at, at + 1) > 0) {
			qsort(events.at, (size_t)(events.end - events.at), sizeof(*events.at),
			      compare_events);
			return;
		}
	}
}

/* The events of all threads, one thread after the other, each in its order. */
static bool group(allo_chrome_event_list *list, size_t thread_count, struct grouped *grouped)
{
	if (!allo_vec_cover(&grouped->ends, thread_count + 1) ||
	    !allo_vec_cover(&grouped->events, list->len))
		return false;
	/* What counts a thread's events becomes where they begin, then where they end. */
	for (size_t i = 0; i < list->len; i++)
		grouped->ends.at[list->at[i].thread + 1]++;
	for (size_t i = 1; i <= thread_count; i++)
		grouped->ends.at[i] += grouped->ends.at[i - 1];
	for (size_t i = 0; i < list->len; i++)
		grouped->events.at[grouped->ends.at[list->at[i].thread]++] = list->at[i];
	allo_vec_done(list);
	return true;
}

static struct events events_of(const struct grouped *grouped, allo_thread_id thread)
{
	struct events events = { 0 };

	if (grouped->events.len == 0)
		return events;
	events.at = grouped->events.at + (thread > 0 ? grouped->ends.at[thread - 1] : 0);
	events.end = grouped->events.at + grouped->ends.at[thread];
	sort_thread(events);
	return events;
}

/* Tells beginnings when their calls end. */
static bool match_ends(struct reading *reading, struct events marks)
{
	reading->begun.len = 0;
	for (; marks.at < marks.end; marks.at++) {
		if (!marks.at->is_end) {
			if (!allo_vec_append(&reading->begun, &marks.at, 1))
				return false;
		} else if (reading->begun.len > 0) {
			reading->begun.at[--reading->begun.len]->end_ns = marks.at->start_ns;
		}
	}
	return true;
}

/* Calls. */

static uint64_t time_of(const struct reading *reading, int64_t ns)
{
	return (uint64_t)ns - (uint64_t)reading->events.first_ns;
}

static allo_frame_id frame_of(struct reading *reading, uint32_t name, struct allo_error *err)
{
	struct allo_chrome_name *known;

	if (name == 0)
		return allo_profile_add_named_frame(reading->times.profile, (struct allo_text){ 0 },
						    err);
	known = &reading->events.names.at[name - 1];
	if (known->frame == 0)
		known->frame = allo_profile_add_named_frame(reading->times.profile, known->text,
							    err);
	return known->frame;
}

/* Ends the innermost call, at the earliest when something last happened. */
static bool end_call(struct reading *reading, allo_thread_id thread, uint64_t time_ns,
		     struct allo_error *err)
{
	uint64_t now_ns = allo_call_times_now(&reading->times, thread);

	reading->open_marks -= !reading->open.at[--reading->open.len].is_whole;
	return allo_call_times_end(&reading->times, thread, time_ns > now_ns ? time_ns : now_ns,
				   err);
}

/* Ends calls that came as a whole and have ended by some time. */
static bool end_whole_calls(struct reading *reading, allo_thread_id thread, int64_t until_ns,
			    struct allo_error *err)
{
	while (reading->open.len > 0) {
		struct open_call innermost = reading->open.at[reading->open.len - 1];

		if (!innermost.is_whole || innermost.end_ns > until_ns)
			break;
		if (!end_call(reading, thread, time_of(reading, innermost.end_ns), err))
			return false;
	}
	return true;
}

static bool begin_call(struct reading *reading, const struct allo_chrome_event *event,
		       bool is_whole, struct allo_error *err)
{
	struct open_call call = { event->end_ns, event->name, is_whole };
	allo_frame_id frame = frame_of(reading, event->name, err);

	if (frame == 0)
		return false;
	if (is_whole && reading->open.len > 0) {
		struct open_call outer = reading->open.at[reading->open.len - 1];

		if (outer.is_whole && call.end_ns > outer.end_ns) {
			if (call.end_ns != ALLO_CHROME_NO_END)
				note(reading, ALLO_NOTE_OVERLAP);
			call.end_ns = outer.end_ns;
		}
	}
	reading->open_marks += !is_whole;
	return (allo_vec_append(&reading->open, &call, 1) || allo_fail_memory(err)) &&
	       allo_call_times_begin(&reading->times, event->thread, frame,
				     time_of(reading, event->start_ns), err);
}

/* The end of a call that began with a mark.  What goes on inside of it ends as well. */
static bool end_marked(struct reading *reading, const struct allo_chrome_event *event,
		       struct allo_error *err)
{
	uint64_t time_ns = time_of(reading, event->start_ns);
	struct open_call innermost;

	if (reading->open_marks == 0) {
		note(reading, ALLO_NOTE_UNBEGUN_CALL);
		return true;
	}
	while ((innermost = reading->open.at[reading->open.len - 1]).is_whole) {
		if (innermost.end_ns != ALLO_CHROME_NO_END)
			note(reading, ALLO_NOTE_OVERLAP);
		if (!end_call(reading, event->thread, time_ns, err))
			return false;
	}
	if (event->name != 0 && event->name != innermost.name)
		note(reading, ALLO_NOTE_MISNAMED_END);
	return end_call(reading, event->thread, time_ns, err);
}

/* Whether a mark comes before a call that came as a whole. */
static bool is_before(const struct allo_chrome_event *mark, const struct allo_chrome_event *call)
{
	if (mark->start_ns != call->start_ns)
		return mark->start_ns < call->start_ns;
	/* Something that ends there, or what takes no time, or what goes on for longer. */
	return mark->is_end || mark->end_ns == mark->start_ns || mark->end_ns >= call->end_ns;
}

/* What has no end ends with the last thing that its thread does. */
static bool end_thread(struct reading *reading, allo_thread_id thread, struct allo_error *err)
{
	while (reading->open.len > 0) {
		struct open_call innermost = reading->open.at[reading->open.len - 1];
		bool has_end = innermost.is_whole && innermost.end_ns != ALLO_CHROME_NO_END;

		if (!has_end)
			note(reading, ALLO_NOTE_UNENDED_CALL);
		if (!end_call(reading, thread, has_end ? time_of(reading, innermost.end_ns) : 0,
			      err))
			return false;
	}
	return true;
}

static bool read_thread(struct reading *reading, struct events marks, struct events calls,
			struct allo_error *err)
{
	allo_thread_id thread = marks.at < marks.end ? marks.at->thread : calls.at->thread;

	if (!match_ends(reading, marks))
		return allo_fail_memory(err);
	while (marks.at < marks.end || calls.at < calls.end) {
		bool is_mark = calls.at == calls.end ||
			       (marks.at < marks.end && is_before(marks.at, calls.at));
		const struct allo_chrome_event *event = is_mark ? marks.at++ : calls.at++;

		if (!end_whole_calls(reading, thread, event->start_ns, err) ||
		    !(event->is_end ? end_marked(reading, event, err)
				    : begin_call(reading, event, !is_mark, err)))
			return false;
	}
	return end_thread(reading, thread, err);
}

static bool read_threads(struct reading *reading, struct allo_error *err)
{
	size_t thread_count = reading->times.profile->threads.len;
	uint64_t open;

	if (!group(&reading->events.marks, thread_count, &reading->marks) ||
	    !group(&reading->events.calls, thread_count, &reading->calls))
		return allo_fail_memory(err);
	for (size_t i = 1; i < thread_count; i++) {
		struct events marks = events_of(&reading->marks, (allo_thread_id)i);
		struct events calls = events_of(&reading->calls, (allo_thread_id)i);

		if ((marks.at < marks.end || calls.at < calls.end) &&
		    !read_thread(reading, marks, calls, err))
			return false;
	}
	return allo_call_times_finish(&reading->times, &open, err);
}

static bool read_chrome_trace(struct allo_input *in, const struct allo_read_options *options,
			      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(reading_done)
	struct reading reading = { .events = { .in = in, .profile = profile } };

	reading.times.options = options;
	reading.times.profile = profile;
	reading.times.threads = &reading.events.threads;
	return allo_call_times_init(&reading.times, err) &&
	       allo_chrome_events_read(&reading.events, err) && read_threads(&reading, err);
}

static enum allo_guess probe_chrome_trace(struct allo_text head)
{
	struct allo_text text = allo_text_trim(head);
	bool has_kinds = allo_text_find(text, ALLO_TEXT("\"ph\"")) != (size_t)-1;

	if (text.len == 0)
		return ALLO_NO;
	if (text.data[0] == '{')
		return allo_text_find(text, ALLO_TEXT("\"traceEvents\"")) != (size_t)-1 ? ALLO_SURE
											: ALLO_NO;
	return text.data[0] == '[' && has_kinds ? ALLO_SURE : ALLO_NO;
}

const struct allo_reader allo_read_chrome_trace = {
	.name = "chrome-trace",
	.title = "Chrome's trace events, as JSON",
	.about =
		"An array of events, or an object that has them as traceEvents; the array may lack "
		"its end. Calls are read (kinds B and E, and X) with the names of threads and "
		"processes (M), in whatever order they come; instants, counters, flows and "
		"asynchronous events are skipped, and so are arguments. The metric is wall: the "
		"time that a thread spent in a call and not in calls inside of it. Forms that "
		"have room for times get each of these stretches, so that the same calls can be "
		"written again; for others they are added up by stack and, if there is room for "
		"labels, by thread. Of calls that overlap without one being inside of the other, "
		"the later one is cut. Calls that do not end are taken to end with the last thing "
		"that their thread does.",
	.probe = probe_chrome_trace,
	.read = read_chrome_trace,
	.has_times = true,
};
