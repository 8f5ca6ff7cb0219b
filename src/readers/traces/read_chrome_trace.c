/*
 * read_chrome_trace.c - Chrome trace events (JSON).
 *
 *     {"ph":"B","name":"parse","pid":42,"tid":7,"ts":10.5}            parse begins at 10.5 us
 *     {"ph":"E","name":"parse","pid":42,"tid":7,"ts":12}              and ends
 *     {"ph":"X","name":"read","pid":42,"tid":7,"ts":13,"dur":2.25}    a complete call
 *     {"ph":"M","name":"thread_name","pid":42,"tid":7,"args":{"name":"main"}}
 *
 * Events may come in any order, so all are read first.  Then each thread's calls are processed in
 * time order: begin and end marks, in file order if times are equal, merged with complete calls, of
 * which the longer encloses the shorter.
 */
#include "base/arena.h"
#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/json_read.h"
#include "base/io/input.h"
#include "base/text_ids.h"
#include "base/utf8.h"
#include "readers/traces/call_times.h"
#include "readers/traces/seen_threads.h"

#include <stdlib.h>

/* The end_ns of a call without an end. */
#define NO_END INT64_MAX

struct event {
	int64_t start_ns, end_ns; /* equal for an end mark */
	allo_thread_id thread;
	uint32_t number; /* in the order of the file */
	uint32_t name;   /* in names[], from 1; 0: none */
	bool is_end;
};

struct name {
	struct allo_text text;
	allo_frame_id frame; /* 0 until needed */
};

typedef ALLO_VEC(struct event) event_list;

/* Set input and profile, leave the rest zero. */
struct events {
	struct allo_input *in;
	struct allo_profile *profile; /* gets threads and notes */
	struct allo_seen_threads threads;
	event_list marks; /* begin marks, which have no end yet, and end marks */
	event_list calls; /* complete calls */
	ALLO_VEC(struct name) names;
	int64_t first_ns; /* the earliest time, at most 0 */

	/* Private from here on. */
	struct allo_arena arena;       /* texts of the names */
	struct allo_text_ids name_ids; /* numbers, from 1 */
};

enum { NAMED_NUMBERS = 1u << 31 }; /* ids of processes and threads that are given by name */

/* An event while its keys are read. */
struct raw_event {
	char kind;
	bool has_start, has_duration;
	int64_t start_ns, duration_ns;
	uint64_t pid, tid;
	uint32_t name, pid_name, tid_name; /* numbers of names; 0: none */
	uint32_t given_name;               /* by metadata */
};

struct parser {
	struct events *events;
	struct allo_json json;
};

static void parser_done(struct parser *parser)
{
	allo_json_done(&parser->json);
}

static void events_done(struct events *events)
{
	allo_seen_threads_done(&events->threads);
	allo_vec_done(&events->marks);
	allo_vec_done(&events->calls);
	allo_vec_done(&events->names);
	allo_arena_done(&events->arena);
	allo_text_ids_done(&events->name_ids);
}

/* Values. */

/* The number of a name, from 1; 0 when memory is short. */
static uint32_t number_of(struct events *events, struct allo_text text, struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&events->name_ids, text);
	uint32_t number = allo_text_ids_find(&events->name_ids, hash);
	struct name name = { 0 };

	if (number != 0)
		return number;
	if (!allo_utf8_is_valid(text))
		allo_note(&events->profile->notes, ALLO_NOTE_BAD_UTF8, allo_input_pos(events->in));
	number = (uint32_t)events->names.len + 1;
	name.text.data = allo_arena_copy(&events->arena, text.data, text.len);
	name.text.len = text.len;
	if (!name.text.data || !allo_vec_append(&events->names, &name, 1) ||
	    !allo_text_ids_put(&events->name_ids, hash, number)) {
		allo_fail_memory(err);
		return 0;
	}
	return number;
}

/* Takes a string or number; skips other values, with `is_there` false.
 */
static bool take_scalar(struct parser *parser, struct allo_text *text, bool *is_there,
			struct allo_error *err)
{
	char c = allo_json_peek(&parser->json, err);

	*is_there = c == '"' || c == '-' || allo_is_digit(c);
	if (c == '"')
		return allo_json_string(&parser->json, text, err);
	return *is_there ? allo_json_number(&parser->json, text, err)
			 : allo_json_skip(&parser->json, err);
}

/* Takes a string; 0 for other values. */
static bool take_name(struct parser *parser, uint32_t *number, struct allo_error *err)
{
	struct allo_text text;

	if (allo_json_peek(&parser->json, err) != '"')
		return allo_json_skip(&parser->json, err);
	if (!allo_json_string(&parser->json, &text, err))
		return false;
	*number = number_of(parser->events, text, err);
	return *number != 0;
}

/* Takes a time: microseconds in the file, nanoseconds here. */
static bool take_time(struct parser *parser, int64_t *ns, bool *is_there, struct allo_error *err)
{
	struct allo_text text, digits;
	bool is_negative;
	uint64_t number;

	if (!take_scalar(parser, &text, is_there, err))
		return false;
	if (!*is_there)
		return true;
	digits = text;
	is_negative = allo_text_skip(&digits, ALLO_TEXT("-"));
	if (!allo_json_text_thousands(digits, &number) || number > INT64_MAX / 4)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(parser->events->in),
				 "expected microseconds, found \"%.*s\"", ALLO_TEXT_ARG(text));
	*ns = is_negative ? -(int64_t)number : (int64_t)number;
	return true;
}

/* Takes the id of a process or thread, which may be negative or a name. */
static bool take_id(struct parser *parser, uint64_t *id, uint32_t *name, struct allo_error *err)
{
	struct allo_text text, digits;
	bool is_there, is_negative;

	if (!take_scalar(parser, &text, &is_there, err))
		return false;
	if (!is_there)
		return true;
	digits = text;
	is_negative = allo_text_skip(&digits, ALLO_TEXT("-"));
	if (allo_json_text_u64(digits, id)) {
		if (is_negative)
			*id = (uint32_t) - *id;
		return true;
	}
	*name = number_of(parser->events, text, err);
	*id = NAMED_NUMBERS + *name;
	return *name != 0;
}

/* {"name":"main"} */
static bool take_arguments(struct parser *parser, struct raw_event *event, struct allo_error *err)
{
	struct allo_text key;

	if (allo_json_peek(&parser->json, err) != '{')
		return allo_json_skip(&parser->json, err);
	if (!allo_json_begin(&parser->json, '{', err))
		return false;
	while (allo_json_key(&parser->json, &key, err)) {
		if (!(allo_text_equal(key, ALLO_TEXT("name"))
			      ? take_name(parser, &event->given_name, err)
			      : allo_json_skip(&parser->json, err)))
			return false;
	}
	return !allo_failed(err);
}

static bool take_kind(struct parser *parser, char *kind, struct allo_error *err)
{
	struct allo_text text;

	if (allo_json_peek(&parser->json, err) != '"')
		return allo_json_skip(&parser->json, err);
	if (!allo_json_string(&parser->json, &text, err))
		return false;
	*kind = text.len == 1 ? text.data[0] : '\0';
	return true;
}

static bool take_member(struct parser *parser, struct allo_text key, struct raw_event *event,
			struct allo_error *err)
{
	if (allo_text_equal(key, ALLO_TEXT("ph")))
		return take_kind(parser, &event->kind, err);
	if (allo_text_equal(key, ALLO_TEXT("name")))
		return take_name(parser, &event->name, err);
	if (allo_text_equal(key, ALLO_TEXT("ts")))
		return take_time(parser, &event->start_ns, &event->has_start, err);
	if (allo_text_equal(key, ALLO_TEXT("dur")))
		return take_time(parser, &event->duration_ns, &event->has_duration, err);
	if (allo_text_equal(key, ALLO_TEXT("pid")))
		return take_id(parser, &event->pid, &event->pid_name, err);
	if (allo_text_equal(key, ALLO_TEXT("tid")))
		return take_id(parser, &event->tid, &event->tid_name, err);
	/* The kind may still follow; mostly only metadata has a name in its arguments. */
	if (allo_text_equal(key, ALLO_TEXT("args")) && (event->kind == 'M' || event->kind == '\0'))
		return take_arguments(parser, event, err);
	return allo_json_skip(&parser->json, err);
}

/* Events. */

static struct allo_text text_of(const struct events *events, uint32_t name)
{
	return name ? events->names.at[name - 1].text : (struct allo_text){ 0 };
}

/* The thread of an event; 0 when memory is short. */
static allo_thread_id thread_of(struct events *events, const struct raw_event *event,
				struct allo_error *err)
{
	allo_thread_id thread = allo_seen_thread(&events->threads, event->pid, event->tid, err);

	if (thread == 0)
		return 0;
	if (event->pid_name != 0 && !allo_seen_process_name(&events->threads, event->pid,
							    text_of(events, event->pid_name), err))
		return 0;
	if (event->tid_name != 0 && events->profile->threads.at[thread].name == 0 &&
	    !allo_seen_thread_name(&events->threads, thread, text_of(events, event->tid_name), err))
		return 0;
	return thread;
}

static bool add_metadata(struct events *events, const struct raw_event *event,
			 struct allo_error *err)
{
	struct allo_text kind = text_of(events, event->name);
	struct allo_text name = text_of(events, event->given_name);
	allo_thread_id thread;

	if (name.len == 0)
		return true;
	if (allo_text_equal(kind, ALLO_TEXT("process_name")))
		return allo_seen_process_name(&events->threads, event->pid, name, err);
	if (!allo_text_equal(kind, ALLO_TEXT("thread_name")))
		return true;
	thread = thread_of(events, event, err);
	return thread != 0 && allo_seen_thread_name(&events->threads, thread, name, err);
}

static bool add_call(struct events *events, const struct raw_event *event, struct allo_error *err)
{
	event_list *list = event->kind == 'X' ? &events->calls : &events->marks;
	struct event call = {
		.start_ns = event->start_ns,
		.end_ns = event->kind == 'E' ? event->start_ns : NO_END,
		.number = (uint32_t)list->len,
		.name = event->name,
		.is_end = event->kind == 'E',
	};

	if (!event->has_start)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(events->in),
				 "a call has no time: no \"ts\"");
	if (event->kind == 'X' && event->has_duration) {
		if (event->duration_ns < 0)
			return allo_fail(err, ALLO_FORMAT, allo_input_pos(events->in),
					 "a call ends before it begins: its \"dur\" is negative");
		call.end_ns = call.start_ns + event->duration_ns;
	}
	if (list->len == UINT32_MAX)
		return allo_fail(err, ALLO_LIMIT, allo_input_pos(events->in),
				 "more than 2^32 events");
	if (call.start_ns < events->first_ns)
		events->first_ns = call.start_ns;
	call.thread = thread_of(events, event, err);
	return call.thread != 0 && (allo_vec_append(list, &call, 1) || allo_fail_memory(err));
}

static bool add_event(struct events *events, const struct raw_event *event, struct allo_error *err)
{
	switch (event->kind) {
	case 'B':
	case 'E':
	case 'X':
		return add_call(events, event, err);
	case 'M':
		return add_metadata(events, event, err);
	default:
		return true;
	}
}

static bool read_event(struct parser *parser, struct allo_error *err)
{
	struct raw_event event = { .kind = '\0' };
	struct allo_text key;

	if (!allo_json_begin(&parser->json, '{', err))
		return false;
	while (allo_json_key(&parser->json, &key, err)) {
		if (!take_member(parser, key, &event, err))
			return false;
	}
	return !allo_failed(err) && add_event(parser->events, &event, err);
}

static bool read_events(struct parser *parser, struct allo_error *err)
{
	if (!allo_json_begin(&parser->json, '[', err))
		return false;
	while (allo_json_item(&parser->json, err)) {
		if (!read_event(parser, err))
			return false;
	}
	return !allo_failed(err);
}

static bool read_object(struct parser *parser, struct allo_error *err)
{
	struct allo_text key;
	bool has_events = false;

	if (!allo_json_begin(&parser->json, '{', err))
		return false;
	while (allo_json_key(&parser->json, &key, err)) {
		bool is_events = allo_text_equal(key, ALLO_TEXT("traceEvents"));

		if (!(is_events ? read_events(parser, err) : allo_json_skip(&parser->json, err)))
			return false;
		has_events |= is_events;
	}
	if (!allo_failed(err) && !has_events)
		allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = parser->events->in->name },
			  "has no \"traceEvents\"");
	return !allo_failed(err);
}

/* Reads the whole file. */
static bool read_file(struct events *events, struct allo_error *err)
{
	ALLO_DEFER(parser_done)
	struct parser parser = { .events = events,
				 .json = { .in = events->in, .has_open_arrays = true } };

	events->threads.profile = events->profile;
	allo_text_ids_init(&events->name_ids);
	if (!(allo_json_peek(&parser.json, err) == '{' ? read_object(&parser, err)
						       : read_events(&parser, err)))
		return false;
	allo_seen_threads_end(&events->threads);
	return allo_json_end(&parser.json, err);
}

/* An open call. */
struct open_call {
	int64_t end_ns; /* of a complete call */
	uint32_t name;
	bool is_whole;
};

/* The events of one thread. */
struct span {
	struct event *at, *end;
};

/* The events of all threads. */
struct grouped {
	ALLO_VEC(struct event) events;
	ALLO_VEC(size_t) ends; /* of a thread's events, by thread */
};

struct reader {
	struct events events;
	struct grouped marks, calls;
	struct allo_call_times times;
	/* The current thread. */
	ALLO_VEC(struct open_call) open;
	size_t open_marks; /* calls among them that began with a mark */
	ALLO_VEC(struct event *) begun;
};

static void reader_done(struct reader *reader)
{
	events_done(&reader->events);
	allo_vec_done(&reader->marks.events);
	allo_vec_done(&reader->marks.ends);
	allo_vec_done(&reader->calls.events);
	allo_vec_done(&reader->calls.ends);
	allo_call_times_done(&reader->times);
	allo_vec_done(&reader->open);
	allo_vec_done(&reader->begun);
}

static void note(struct reader *reader, enum allo_note kind)
{
	allo_note(&reader->times.profile->notes, kind, ALLO_NOWHERE);
}

/* Order. */

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	/* Begin marks have no ends yet, so these are complete calls. */
	if (x->end_ns != y->end_ns && !x->is_end && !y->is_end)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Sorts only if needed: events are mostly in order. */
static void sort_thread(struct span events)
{
	for (struct event *at = events.at; at + 1 < events.end; at++) {
		if (compare_events(at, at + 1) > 0) {
			qsort(events.at, (size_t)(events.end - events.at), sizeof(*events.at),
			      compare_events);
			return;
		}
	}
}

/* A counting sort: moves the events of all threads, in file order, one thread after the other. */
static bool group(event_list *list, size_t thread_count, struct grouped *grouped)
{
	if (!allo_vec_cover(&grouped->ends, thread_count + 1) ||
	    !allo_vec_cover(&grouped->events, list->len))
		return false;
	/* ends[] holds counts first, then the start of each thread's events, and finally their end.
	 */
	for (size_t i = 0; i < list->len; i++)
		grouped->ends.at[list->at[i].thread + 1]++;
	for (size_t i = 1; i <= thread_count; i++)
		grouped->ends.at[i] += grouped->ends.at[i - 1];
	for (size_t i = 0; i < list->len; i++)
		grouped->events.at[grouped->ends.at[list->at[i].thread]++] = list->at[i];
	allo_vec_done(list);
	return true;
}

static struct span span_of(const struct grouped *grouped, allo_thread_id thread)
{
	struct span events = { 0 };

	if (grouped->events.len == 0)
		return events;
	events.at = grouped->events.at + (thread > 0 ? grouped->ends.at[thread - 1] : 0);
	events.end = grouped->events.at + grouped->ends.at[thread];
	sort_thread(events);
	return events;
}

/* Sets the ends of begin marks. */
static bool match_ends(struct reader *reader, struct span marks)
{
	reader->begun.len = 0;
	for (; marks.at < marks.end; marks.at++) {
		if (!marks.at->is_end) {
			if (!allo_vec_append(&reader->begun, &marks.at, 1))
				return false;
		} else if (reader->begun.len > 0) {
			reader->begun.at[--reader->begun.len]->end_ns = marks.at->start_ns;
		}
	}
	return true;
}

/* Calls. */

static uint64_t time_of(const struct reader *reader, int64_t ns)
{
	return (uint64_t)ns - (uint64_t)reader->events.first_ns;
}

static allo_frame_id frame_of(struct reader *reader, uint32_t name, struct allo_error *err)
{
	struct name *known;

	if (name == 0)
		return allo_profile_add_named_frame(reader->times.profile, (struct allo_text){ 0 },
						    err);
	ALLO_ASSERT(name <= reader->events.names.len);
	known = &reader->events.names.at[name - 1];
	if (known->frame == 0)
		known->frame = allo_profile_add_named_frame(reader->times.profile, known->text,
							    err);
	return known->frame;
}

/* Ends the innermost call, but not before the thread's last event. */
static bool end_call(struct reader *reader, allo_thread_id thread, uint64_t time_ns,
		     struct allo_error *err)
{
	uint64_t now_ns = allo_call_times_now(&reader->times, thread);

	ALLO_ASSERT(reader->open.len > 0 && reader->open_marks <= reader->open.len);
	reader->open_marks -= !reader->open.at[--reader->open.len].is_whole;
	return allo_call_times_end(&reader->times, thread, time_ns > now_ns ? time_ns : now_ns,
				   err);
}

/* Ends the complete calls that end by `until_ns`. */
static bool end_whole_calls(struct reader *reader, allo_thread_id thread, int64_t until_ns,
			    struct allo_error *err)
{
	while (reader->open.len > 0) {
		struct open_call innermost = reader->open.at[reader->open.len - 1];

		if (!innermost.is_whole || innermost.end_ns > until_ns)
			break;
		if (!end_call(reader, thread, time_of(reader, innermost.end_ns), err))
			return false;
	}
	return true;
}

static bool begin_call(struct reader *reader, const struct event *event, bool is_whole,
		       struct allo_error *err)
{
	struct open_call call = { event->end_ns, event->name, is_whole };
	allo_frame_id frame = frame_of(reader, event->name, err);

	if (frame == 0)
		return false;
	if (is_whole && reader->open.len > 0) {
		struct open_call outer = reader->open.at[reader->open.len - 1];

		if (outer.is_whole && call.end_ns > outer.end_ns) {
			if (call.end_ns != NO_END)
				note(reader, ALLO_NOTE_OVERLAP);
			call.end_ns = outer.end_ns;
		}
	}
	reader->open_marks += !is_whole;
	return (allo_vec_append(&reader->open, &call, 1) || allo_fail_memory(err)) &&
	       allo_call_times_begin(&reader->times, event->thread, frame,
				     time_of(reader, event->start_ns), err);
}

/* Ends a call that began with a mark, and all calls inside it. */
static bool end_marked(struct reader *reader, const struct event *event, struct allo_error *err)
{
	uint64_t time_ns = time_of(reader, event->start_ns);
	struct open_call innermost;

	if (reader->open_marks == 0) {
		note(reader, ALLO_NOTE_UNBEGUN_CALL);
		return true;
	}
	while ((innermost = reader->open.at[reader->open.len - 1]).is_whole) {
		if (innermost.end_ns != NO_END)
			note(reader, ALLO_NOTE_OVERLAP);
		if (!end_call(reader, event->thread, time_ns, err))
			return false;
	}
	if (event->name != 0 && event->name != innermost.name)
		note(reader, ALLO_NOTE_MISNAMED_END);
	return end_call(reader, event->thread, time_ns, err);
}

/* Whether a mark comes before a complete call. */
static bool is_before(const struct event *mark, const struct event *call)
{
	if (mark->start_ns != call->start_ns)
		return mark->start_ns < call->start_ns;
	/* An end mark, a call of no duration, or a call that encloses the other. */
	return mark->is_end || mark->end_ns == mark->start_ns || mark->end_ns >= call->end_ns;
}

/* Ends all open calls; one without an end ends with the thread's last event. */
static bool end_thread(struct reader *reader, allo_thread_id thread, struct allo_error *err)
{
	while (reader->open.len > 0) {
		struct open_call innermost = reader->open.at[reader->open.len - 1];
		bool has_end = innermost.is_whole && innermost.end_ns != NO_END;

		if (!has_end)
			note(reader, ALLO_NOTE_UNENDED_CALL);
		if (!end_call(reader, thread, has_end ? time_of(reader, innermost.end_ns) : 0, err))
			return false;
	}
	return true;
}

static bool read_thread(struct reader *reader, struct span marks, struct span calls,
			struct allo_error *err)
{
	allo_thread_id thread = marks.at < marks.end ? marks.at->thread : calls.at->thread;

	if (!match_ends(reader, marks))
		return allo_fail_memory(err);
	while (marks.at < marks.end || calls.at < calls.end) {
		bool is_mark = calls.at == calls.end ||
			       (marks.at < marks.end && is_before(marks.at, calls.at));
		const struct event *event = is_mark ? marks.at++ : calls.at++;

		if (!end_whole_calls(reader, thread, event->start_ns, err) ||
		    !(event->is_end ? end_marked(reader, event, err)
				    : begin_call(reader, event, !is_mark, err)))
			return false;
	}
	return end_thread(reader, thread, err);
}

static bool read_threads(struct reader *reader, struct allo_error *err)
{
	size_t thread_count = reader->times.profile->threads.len;
	uint64_t open;

	if (!group(&reader->events.marks, thread_count, &reader->marks) ||
	    !group(&reader->events.calls, thread_count, &reader->calls))
		return allo_fail_memory(err);
	for (size_t i = 1; i < thread_count; i++) {
		struct span marks = span_of(&reader->marks, (allo_thread_id)i);
		struct span calls = span_of(&reader->calls, (allo_thread_id)i);

		if ((marks.at < marks.end || calls.at < calls.end) &&
		    !read_thread(reader, marks, calls, err))
			return false;
	}
	return allo_call_times_finish(&reader->times, &open, err);
}

static bool read_chrome_trace(struct allo_input *in, const struct allo_read_options *options,
			      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(reader_done)
	struct reader reader = { .events = { .in = in, .profile = profile } };

	reader.times.options = options;
	reader.times.profile = profile;
	reader.times.threads = &reader.events.threads;
	return allo_call_times_init(&reader.times, err) && read_file(&reader.events, err) &&
	       read_threads(&reader, err);
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
	.title = "Chrome trace events (JSON)",
	.about = "An array of events, or an object with a traceEvents array; the array may "
		 "lack its end. The reader takes calls (kinds B and E, and X) and the "
		 "names of threads and processes (M), in any order. It skips instants, "
		 "counters, flows, asynchronous events and arguments. The metric is wall: "
		 "the time that a thread spent in a call but not in its callees. Output "
		 "formats with times get each of these intervals, so that the same calls "
		 "can be written again; for other formats they are added up by stack and, "
		 "if the format holds labels, by thread. If two calls overlap and neither "
		 "contains the other, the later one is cut. A call without an end ends "
		 "with the last event of its thread.",
	.probe = probe_chrome_trace,
	.read = read_chrome_trace,
	.has_times = true,
};
