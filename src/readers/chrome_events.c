/* chrome_events.c - see chrome_events.h. */
#include "readers/chrome_events.h"

#include "base/defer.h"
#include "base/json_read.h"
#include "base/utf8.h"

enum { NAMED_NUMBERS = 1u << 31 }; /* of processes and threads that have names for numbers */

/* An event as it is read, key by key. */
struct event {
	char kind;
	bool has_start, has_duration;
	int64_t start_ns, duration_ns;
	uint64_t pid, tid;
	uint32_t name, pid_name, tid_name; /* numbers of names; 0: none */
	uint32_t given_name;               /* by metadata */
};

struct reading {
	struct allo_chrome_events *events;
	struct allo_json json;
};

static void reading_done(struct reading *reading)
{
	allo_json_done(&reading->json);
}

void allo_chrome_events_done(struct allo_chrome_events *events)
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
static uint32_t number_of(struct allo_chrome_events *events, struct allo_text text,
			  struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&events->name_ids, text);
	uint32_t number = allo_text_ids_find(&events->name_ids, hash);
	struct allo_chrome_name name = { 0 };

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

/* A string or number; `is_there` is false where there is a value of another kind, which is skipped.
 */
static bool take_scalar(struct reading *reading, struct allo_text *text, bool *is_there,
			struct allo_error *err)
{
	char c = allo_json_peek(&reading->json, err);

	*is_there = c == '"' || c == '-' || allo_is_digit(c);
	if (c == '"')
		return allo_json_string(&reading->json, text, err);
	return *is_there ? allo_json_number(&reading->json, text, err)
			 : allo_json_skip(&reading->json, err);
}

/* A string; 0 where there is a value of another kind. */
static bool take_name(struct reading *reading, uint32_t *number, struct allo_error *err)
{
	struct allo_text text;

	if (allo_json_peek(&reading->json, err) != '"')
		return allo_json_skip(&reading->json, err);
	if (!allo_json_string(&reading->json, &text, err))
		return false;
	*number = number_of(reading->events, text, err);
	return *number != 0;
}

/* Microseconds in the file, nanoseconds here. */
static bool take_time(struct reading *reading, int64_t *ns, bool *is_there, struct allo_error *err)
{
	struct allo_text text, digits;
	bool is_negative;
	uint64_t number;

	if (!take_scalar(reading, &text, is_there, err))
		return false;
	if (!*is_there)
		return true;
	digits = text;
	is_negative = allo_text_skip(&digits, ALLO_TEXT("-"));
	if (!allo_json_text_thousands(digits, &number) || number > INT64_MAX / 4)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(reading->events->in),
				 "expected microseconds, found \"%.*s\"", ALLO_TEXT_ARG(text));
	*ns = is_negative ? -(int64_t)number : (int64_t)number;
	return true;
}

/* The number of a process or thread.  Some have negative ones, and some names. */
static bool take_id(struct reading *reading, uint64_t *id, uint32_t *name, struct allo_error *err)
{
	struct allo_text text, digits;
	bool is_there, is_negative;

	if (!take_scalar(reading, &text, &is_there, err))
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
	*name = number_of(reading->events, text, err);
	*id = NAMED_NUMBERS + *name;
	return *name != 0;
}

/* {"name":"main"} */
static bool take_arguments(struct reading *reading, struct event *event, struct allo_error *err)
{
	struct allo_text key;

	if (allo_json_peek(&reading->json, err) != '{')
		return allo_json_skip(&reading->json, err);
	if (!allo_json_begin(&reading->json, '{', err))
		return false;
	while (allo_json_key(&reading->json, &key, err)) {
		if (!(allo_text_equal(key, ALLO_TEXT("name"))
			      ? take_name(reading, &event->given_name, err)
			      : allo_json_skip(&reading->json, err)))
			return false;
	}
	return !allo_failed(err);
}

static bool take_kind(struct reading *reading, char *kind, struct allo_error *err)
{
	struct allo_text text;

	if (allo_json_peek(&reading->json, err) != '"')
		return allo_json_skip(&reading->json, err);
	if (!allo_json_string(&reading->json, &text, err))
		return false;
	*kind = text.len == 1 ? text.data[0] : '\0';
	return true;
}

static bool take_member(struct reading *reading, struct allo_text key, struct event *event,
			struct allo_error *err)
{
	if (allo_text_equal(key, ALLO_TEXT("ph")))
		return take_kind(reading, &event->kind, err);
	if (allo_text_equal(key, ALLO_TEXT("name")))
		return take_name(reading, &event->name, err);
	if (allo_text_equal(key, ALLO_TEXT("ts")))
		return take_time(reading, &event->start_ns, &event->has_start, err);
	if (allo_text_equal(key, ALLO_TEXT("dur")))
		return take_time(reading, &event->duration_ns, &event->has_duration, err);
	if (allo_text_equal(key, ALLO_TEXT("pid")))
		return take_id(reading, &event->pid, &event->pid_name, err);
	if (allo_text_equal(key, ALLO_TEXT("tid")))
		return take_id(reading, &event->tid, &event->tid_name, err);
	/* Whose they are may not be known yet; only metadata has a name in them, mostly. */
	if (allo_text_equal(key, ALLO_TEXT("args")) && (event->kind == 'M' || event->kind == '\0'))
		return take_arguments(reading, event, err);
	return allo_json_skip(&reading->json, err);
}

/* Events. */

static struct allo_text text_of(const struct allo_chrome_events *events, uint32_t name)
{
	return name ? events->names.at[name - 1].text : (struct allo_text){ 0 };
}

/* Its thread; 0 when memory is short. */
static allo_thread_id thread_of(struct allo_chrome_events *events, const struct event *event,
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

static bool add_metadata(struct allo_chrome_events *events, const struct event *event,
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

static bool add_call(struct allo_chrome_events *events, const struct event *event,
		     struct allo_error *err)
{
	allo_chrome_event_list *list = event->kind == 'X' ? &events->calls : &events->marks;
	struct allo_chrome_event call = {
		.start_ns = event->start_ns,
		.end_ns = event->kind == 'E' ? event->start_ns : ALLO_CHROME_NO_END,
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

static bool add_event(struct allo_chrome_events *events, const struct event *event,
		      struct allo_error *err)
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

static bool read_event(struct reading *reading, struct allo_error *err)
{
	struct event event = { .kind = '\0' };
	struct allo_text key;

	if (!allo_json_begin(&reading->json, '{', err))
		return false;
	while (allo_json_key(&reading->json, &key, err)) {
		if (!take_member(reading, key, &event, err))
			return false;
	}
	return !allo_failed(err) && add_event(reading->events, &event, err);
}

static bool read_events(struct reading *reading, struct allo_error *err)
{
	if (!allo_json_begin(&reading->json, '[', err))
		return false;
	while (allo_json_item(&reading->json, err)) {
		if (!read_event(reading, err))
			return false;
	}
	return !allo_failed(err);
}

static bool read_object(struct reading *reading, struct allo_error *err)
{
	struct allo_text key;
	bool has_events = false;

	if (!allo_json_begin(&reading->json, '{', err))
		return false;
	while (allo_json_key(&reading->json, &key, err)) {
		bool is_events = allo_text_equal(key, ALLO_TEXT("traceEvents"));

		if (!(is_events ? read_events(reading, err) : allo_json_skip(&reading->json, err)))
			return false;
		has_events |= is_events;
	}
	if (!allo_failed(err) && !has_events)
		allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = reading->events->in->name },
			  "has no \"traceEvents\"");
	return !allo_failed(err);
}

bool allo_chrome_events_read(struct allo_chrome_events *events, struct allo_error *err)
{
	ALLO_DEFER(reading_done)
	struct reading reading = { .events = events,
				   .json = { .in = events->in, .has_open_arrays = true } };

	events->threads.profile = events->profile;
	allo_text_ids_init(&events->name_ids);
	if (!(allo_json_peek(&reading.json, err) == '{' ? read_object(&reading, err)
							: read_events(&reading, err)))
		return false;
	allo_seen_threads_end(&events->threads);
	return allo_json_end(&reading.json, err);
}
