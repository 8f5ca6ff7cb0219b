/*
 * read_perf.c - samples of perf, as `perf script` prints them.
 *
 * A sample is a line, whose fields differ from file to file, and the frames below it.  Most stacks
 * repeat, with equal texts.  So the frames of a sample are looked up as one text; only a new text
 * is split into frames, and only a new frame is parsed.  Texts are identified by hash and not kept.
 */
#include "base/assert.h"
#include "base/defer.h"
#include "base/text_ids.h"
#include "base/utf8.h"
#include "profile/naming.h"
#include "readers/reader.h"
#include "readers/traces/perf_lines.h"
#include "readers/traces/sample_clock.h"
#include "readers/traces/seen_threads.h"
#include "readers/traces/symbol_function.h"

/* The stacks of samples, by their text.  Call stacks_init() first. */
struct stacks {
	struct allo_input *in;
	const struct allo_read_options *options;
	struct allo_profile *profile;
	struct allo_stack_builder builder;

	/* Private from here on. */
	struct allo_text_ids stack_ids, frame_ids;
	ALLO_VEC(allo_frame_id) stack;    /* the current stack, innermost first */
	ALLO_VEC(struct allo_line) lines; /* of the current frame, innermost first */
	ALLO_VEC(char) name;              /* name of an unknown symbol */
};

/* Call before the profile drops its stacks. */
static inline void stacks_forget(struct stacks *stacks)
{
	allo_text_ids_clear(&stacks->stack_ids);
}

enum { TEXTS_MOST = 1 << 20 }; /* limit of remembered stacks, and of frames */

static void stacks_init(struct stacks *stacks, struct allo_input *in,
			const struct allo_read_options *options, struct allo_profile *profile)
{
	*stacks = (struct stacks){ .in = in, .options = options, .profile = profile };
	allo_text_ids_init(&stacks->stack_ids);
	allo_text_ids_init(&stacks->frame_ids);
}

static void stacks_done(struct stacks *stacks)
{
	allo_stack_builder_done(&stacks->builder);
	allo_text_ids_done(&stacks->stack_ids);
	allo_text_ids_done(&stacks->frame_ids);
	allo_vec_done(&stacks->stack);
	allo_vec_done(&stacks->lines);
	allo_vec_done(&stacks->name);
}

/* A position costs counting the lines before it: only the first is looked up. */
static void note_bad_utf8(struct stacks *stacks, struct allo_text name)
{
	struct allo_notes *notes = &stacks->profile->notes;
	bool is_first = notes->of[ALLO_NOTE_BAD_UTF8].count == 0;

	allo_note(notes, ALLO_NOTE_BAD_UTF8,
		  is_first ? allo_input_pos_at(stacks->in, name.data) : ALLO_NOWHERE);
}

/* Frames. */

/* A call while its lines are read. */
struct call {
	struct allo_perf_frame frame;
	struct allo_text file;
	uint32_t line;
};

/* The function of an unknown symbol: "[libc.so.6]". */
static allo_function_id unknown_function(struct stacks *stacks, struct allo_text object,
					 struct allo_error *err)
{
	struct allo_text file = allo_basename(object);

	if (file.len == 0)
		file = ALLO_TEXT("[unknown]");
	stacks->name.len = 0;
	if (!allo_vec_append(&stacks->name, "[", 1) ||
	    !allo_vec_append(&stacks->name, file.data, file.len) ||
	    !allo_vec_append(&stacks->name, "]", 1)) {
		allo_fail_memory(err);
		return 0;
	}
	if (file.data[0] != '[')
		file = (struct allo_text){ stacks->name.at, stacks->name.len };
	return allo_symbol_function(stacks->profile, NULL, file, (struct allo_text){ 0 }, err);
}

static bool add_call(struct stacks *stacks, const struct call *call, struct allo_error *err)
{
	struct allo_text symbol = call->frame.symbol;
	struct allo_line line = { .line = call->line };

	if (!allo_utf8_is_valid(symbol))
		note_bad_utf8(stacks, symbol);
	line.function = symbol.len > 0 ? allo_symbol_function(stacks->profile,
							      stacks->options->trace.namer, symbol,
							      call->file, err)
				       : unknown_function(stacks, call->frame.object, err);
	return line.function != 0 &&
	       (allo_vec_append(&stacks->lines, &line, 1) || allo_fail_memory(err));
}

/* Adds a frame with the calls inlined into it, which come before it, and with source lines. */
static allo_frame_id make_frame(struct stacks *stacks, struct allo_text text,
				struct allo_error *err)
{
	struct allo_frame frame = { 0 };
	struct allo_module module = { 0 };
	struct allo_text line;
	struct call call = { 0 };
	bool has_call = false;

	stacks->lines.len = 0;
	while (allo_text_next(&text, '\n', &line)) {
		/* A frame on the line of its sample has no leading space. */
		if (!has_call || allo_perf_is_frame(line)) {
			if (has_call && !add_call(stacks, &call, err))
				return 0;
			has_call = true;
			call = (struct call){ .frame = allo_perf_parse_frame(line) };
		} else {
			allo_perf_parse_place(line, &call.file, &call.line);
		}
	}
	if (!add_call(stacks, &call, err))
		return 0;
	if (call.frame.object.len > 0) {
		module.path = allo_profile_add_string(stacks->profile, call.frame.object, err);
		frame.module = allo_profile_add_module(stacks->profile, &module, err);
		if (frame.module == 0)
			return 0;
	}
	return allo_profile_add_frame(stacks->profile, &frame, stacks->lines.at, stacks->lines.len,
				      err);
}

/* Stores the id of a text; starts over when the table is full. */
static bool remember(struct allo_text_ids *ids, struct allo_hash128 hash, uint32_t id,
		     struct allo_error *err)
{
	if (ids->entries.len == TEXTS_MOST)
		allo_text_ids_clear(ids);
	return allo_text_ids_put(ids, hash, id) || allo_fail_memory(err);
}

/* The frame of a text of one or more lines: inlined calls and source lines have their own.  0 when
 * memory is short. */
static allo_frame_id frame_of(struct stacks *stacks, struct allo_text text, struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&stacks->frame_ids, text);
	allo_frame_id frame = allo_text_ids_find(&stacks->frame_ids, hash);

	if (frame != 0)
		return frame;
	frame = make_frame(stacks, text, err);
	return frame != 0 && remember(&stacks->frame_ids, hash, frame, err) ? frame : 0;
}

/* Stacks. */

/* Takes the lines of one frame off a text. */
static struct allo_text take_frame(struct allo_text *text)
{
	static const struct allo_text inlined = ALLO_TEXT_INIT("(inlined)");
	struct allo_text frame = { text->data, 0 };
	bool goes_on = true; /* the enclosing frame of inlined calls is still to come */

	while (text->len > 0) {
		const char *newline = memchr(text->data, '\n', text->len);
		size_t size = newline ? (size_t)(newline - text->data) + 1 : text->len;
		struct allo_text line = { text->data, size };

		/* Source lines have no tab. */
		if (line.data[0] == '\t' || allo_perf_is_frame(line)) {
			if (!goes_on)
				break;
			goes_on = allo_text_ends(allo_text_trim(line), inlined);
		}
		frame.len += size;
		*text = allo_text_from(*text, size);
	}
	return frame;
}

static bool make_stack(struct stacks *stacks, struct allo_text text, allo_stack_id *stack,
		       struct allo_error *err)
{
	stacks->stack.len = 0;
	while (text.len > 0) {
		allo_frame_id frame = frame_of(stacks, take_frame(&text), err);

		if (frame == 0)
			return false;
		if (!allo_vec_append(&stacks->stack, &frame, 1))
			return allo_fail_memory(err);
	}
	*stack = allo_stack_build(&stacks->builder, stacks->profile, stacks->stack.at,
				  stacks->stack.len, err);
	return *stack != 0;
}

/* The stack of a text, the innermost frame first; false when memory is short. */
static bool stack_of(struct stacks *stacks, struct allo_text text, allo_stack_id *stack,
		     struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&stacks->stack_ids, text);

	*stack = allo_text_ids_find(&stacks->stack_ids, hash);
	return *stack != 0 || (make_stack(stacks, text, stack, err) &&
			       remember(&stacks->stack_ids, hash, *stack, err));
}

enum { EVENTS_MOST = 256 };

/* An event that perf sampled. */
struct event {
	allo_string_id name;
	bool is_clock;   /* it counts nanoseconds */
	bool has_metric; /* a metric besides the number of samples */
	size_t metric;
};

/* The line above the frames of a sample. */
struct head {
	bool is_there;
	allo_thread_id thread;
	size_t event; /* index + 1; 0: unknown */
	bool has_time, has_period;
	uint64_t time_ns, period;
	allo_frame_id frame; /* on the same line; 0: none */
};

struct perf {
	struct allo_input *in;
	const struct allo_read_options *options;
	struct allo_profile *profile;
	struct allo_seen_threads threads;
	struct stacks stacks;
	struct allo_sample_clock clock;
	ALLO_VEC(struct event) events;
	bool has_cpu; /* the metric cpu exists */
	struct head head;
	bool has_samples;
	bool has_certain; /* the heads of this file have times, or threads and events */
	bool is_skipping; /* the frames here belong to a bad line */
	bool is_at_start; /* a blank line, or nothing, is before this line */
	uint64_t sample_count;
	struct allo_bad_parts skipped;
};

static void perf_done(struct perf *perf)
{
	allo_seen_threads_done(&perf->threads);
	stacks_done(&perf->stacks);
	allo_sample_clock_done(&perf->clock);
	allo_vec_done(&perf->events);
}

/* Events. */

/* "cpu-clock", "task-clock:u" */
static bool is_clock(struct allo_text event)
{
	struct allo_text name = event, modifiers;

	allo_text_cut(event, ':', &name, &modifiers);
	return allo_text_equal(name, ALLO_TEXT("cpu-clock")) ||
	       allo_text_equal(name, ALLO_TEXT("task-clock"));
}

/* Adds a metric for an event.  For the first event without periods, its values so far are the
 * numbers of samples. */
static bool add_metric(struct perf *perf, struct event *event, bool is_period,
		       struct allo_error *err)
{
	struct allo_profile *profile = perf->profile;
	bool is_cpu = event->is_clock && is_period && !perf->has_cpu;
	struct allo_metric metric = { .name = event->name };
	size_t width;

	event->metric = profile->metrics.len;
	event->has_metric = true;
	perf->has_cpu |= is_cpu;
	/* Prefer time, else the first event. */
	if (is_cpu || profile->meta.default_metric == 0)
		profile->meta.default_metric = event->metric + 1;
	if (is_cpu)
		return allo_profile_add_metric(profile, ALLO_CPU, NULL, err);
	metric.unit = allo_profile_add_string(
		profile,
		event->is_clock && is_period ? ALLO_TEXT("nanoseconds") : ALLO_TEXT("count"), err);
	if (allo_failed(err) || !allo_profile_add_metric_like(profile, &metric, err))
		return false;
	width = profile->metrics.len;
	for (size_t i = 0; !is_period && event == perf->events.at && i < profile->values.len;
	     i += width)
		profile->values.at[i + event->metric] = profile->values.at[i];
	return true;
}

/* The index of an event, from 1; 0 at failure.  Events without periods get metrics once there are
 * several. */
static size_t add_event(struct perf *perf, struct allo_text name, bool has_period,
			struct allo_error *err)
{
	struct event event = {
		.name = allo_profile_add_string(perf->profile, name, err),
		.is_clock = is_clock(name),
	};
	size_t count = perf->events.len + 1;

	if (count > EVENTS_MOST) {
		allo_fail(err, ALLO_LIMIT, allo_input_pos(perf->in), "more than %d kinds of events",
			  EVENTS_MOST);
		return 0;
	}
	if (allo_failed(err))
		return 0;
	if (!allo_vec_append(&perf->events, &event, 1)) {
		allo_fail_memory(err);
		return 0;
	}
	if (count == 2 && !perf->events.at[0].has_metric &&
	    !add_metric(perf, &perf->events.at[0], false, err))
		return 0;
	if ((has_period || count > 1) &&
	    !add_metric(perf, &perf->events.at[count - 1], has_period, err))
		return 0;
	return count;
}

static bool find_event(struct perf *perf, struct allo_text name, bool has_period, size_t *number,
		       struct allo_error *err)
{
	for (*number = 1; *number <= perf->events.len; ++*number) {
		struct allo_text known = allo_profile_text(perf->profile,
							   perf->events.at[*number - 1].name);

		if (allo_text_equal(known, name))
			return true;
	}
	*number = add_event(perf, name, has_period, err);
	return *number != 0;
}

/* Samples. */

static bool find_time(struct perf *perf, struct allo_when *when, struct allo_error *err)
{
	const struct head *head = &perf->head;
	struct allo_clocked clocked = { .thread = head->thread,
					.has_time = head->has_time,
					.time_ns = head->time_ns };

	if (head->has_period && head->event > 0 && perf->events.at[head->event - 1].is_clock)
		clocked.duration_ns = head->period;
	if (allo_sample_clock_when(&perf->clock, &clocked, when, err))
		return true;
	if (allo_failed(err))
		return false;
	allo_fail(err, ALLO_ORDER, allo_input_pos(perf->in),
		  "the sample is earlier than others before it");
	return allo_hint(err, "write the input to a file first: allo sorts the samples of a file");
}

/* The row for a sample: its own, or that of its stack. */
static uint64_t *add_row(struct perf *perf, allo_stack_id stack, struct allo_error *err)
{
	allo_labels_id labels = 0;
	struct allo_when when;

	if (!find_time(perf, &when, err))
		return NULL;
	if (perf->options->wants_times)
		return allo_profile_add_timed_sample(perf->profile, stack, 0, &when, err);
	if (perf->options->by_thread && perf->head.thread != 0)
		labels = allo_seen_thread_labels(&perf->threads, perf->head.thread, err);
	return allo_profile_add_sample(perf->profile, stack, labels, NULL, err);
}

static bool pass_portion(struct perf *perf, struct allo_error *err)
{
	if (!perf->options->wants_times || !perf->options->drain ||
	    allo_profile_sample_count(perf->profile) < ALLO_PORTION_SAMPLES)
		return true;
	if (!allo_sample_clock_settle(&perf->clock, perf->profile))
		return allo_fail_memory(err);
	stacks_forget(&perf->stacks);
	return allo_reader_drain(perf->options, perf->profile, &perf->stacks.builder, err);
}

/* Adds the sample of the latest head, if there is one. */
static bool add_sample(struct perf *perf, allo_stack_id stack, struct allo_error *err)
{
	struct allo_profile *profile = perf->profile;
	const struct head *head = &perf->head;
	uint64_t *row = add_row(perf, stack, err);

	if (!row)
		return false;
	allo_profile_add_value(profile, 0, &row[0], 1);
	if (head->event > 0 && perf->events.at[head->event - 1].has_metric) {
		size_t metric = perf->events.at[head->event - 1].metric;

		allo_profile_add_value(profile, metric, &row[metric],
				       head->has_period ? head->period : 1);
	}
	perf->head = (struct head){ 0 };
	perf->has_samples = true;
	perf->sample_count++;
	return pass_portion(perf, err);
}

/* Adds a sample without frames below it: it has one on its line, or none. */
static bool end_sample(struct perf *perf, struct allo_error *err)
{
	allo_stack_id stack = 0;

	if (!perf->head.is_there)
		return true;
	if (perf->head.frame != 0)
		stack = allo_stack_build(&perf->stacks.builder, perf->profile, &perf->head.frame, 1,
					 err);
	return !allo_failed(err) && add_sample(perf, stack, err);
}

/* Lines. */

/* The line at the front of the input, with its end; false at the end of the input and at failure.
 */
static bool peek_line(struct perf *perf, struct allo_text *line, struct allo_error *err)
{
	struct allo_input *in = perf->in;
	size_t searched = 0;

	for (;;) {
		size_t unread = allo_input_unread(in);
		const char *newline = NULL;

		if (unread > searched)
			newline = memchr(in->next + searched, '\n', unread - searched);
		searched = unread;
		if (!newline && allo_input_more(in, err))
			continue;
		*line = (struct allo_text){ in->next,
					    newline ? (size_t)(newline + 1 - in->next) : unread };
		return !allo_failed(err) && line->len > 0;
	}
}

static void take(struct perf *perf, size_t size, uint64_t lines)
{
	perf->in->next += size;
	allo_input_lines_counted(perf->in, lines);
}

/* The frames at the front of the input, and their number of lines. */
static bool peek_stack(struct perf *perf, struct allo_text *text, uint64_t *lines,
		       struct allo_error *err)
{
	struct allo_input *in = perf->in;
	size_t size = 0; /* end of the last whole line */

	*lines = 0;
	/* A frame with leading spaces and no head above is a sample. */
	if (in->next[0] == ' ' && !perf->head.is_there) {
		*lines = 1;
		return peek_line(perf, text, err);
	}
	for (;;) {
		const char *at = in->next + size, *newline;

		while (at < in->end && allo_perf_is_indented(*at) &&
		       (newline = memchr(at, '\n', (size_t)(in->end - at))) != NULL) {
			at = newline + 1;
			++*lines;
		}
		size = (size_t)(at - in->next);
		if (at < in->end && !allo_perf_is_indented(*at))
			break;
		if (!allo_input_more(in, err)) {
			size = allo_input_unread(in);
			break;
		}
	}
	*text = (struct allo_text){ in->next, size };
	return !allo_failed(err);
}

static bool read_stack(struct perf *perf, struct allo_error *err)
{
	struct allo_text text;
	allo_stack_id stack;
	uint64_t lines;

	perf->is_at_start = false;
	if (!peek_stack(perf, &text, &lines, err))
		return false;
	ALLO_ASSERT(text.len > 0);
	if (perf->is_skipping || (perf->in->is_stopped && text.data + text.len == perf->in->end))
		perf->head.is_there = false; /* the rest is missing */
	else if (!stack_of(&perf->stacks, text, &stack, err) || !add_sample(perf, stack, err))
		return false;
	take(perf, text.len, lines);
	return true;
}

/* Whether the second line of the input is a frame. */
static bool is_followed_by_frame(struct perf *perf, size_t size, struct allo_error *err)
{
	enum { ENOUGH = 64 }; /* for white space and an address */
	struct allo_text line;

	if (!allo_input_want(perf->in, size + ENOUGH, err) || allo_input_unread(perf->in) <= size)
		return false;
	line = (struct allo_text){ perf->in->next + size, allo_input_unread(perf->in) - size };
	if (line.len > ENOUGH)
		line.len = ENOUGH;
	return allo_perf_is_frame(line);
}

/* The thread of a sample; a name without ids identifies a thread, too. */
static bool find_thread(struct perf *perf, const struct allo_perf_head *given,
			allo_thread_id *thread, struct allo_error *err)
{
	uint64_t tid = given->tid;

	*thread = 0;
	if (!given->has_tid && given->comm.len == 0)
		return true;
	if (!given->has_tid)
		tid = allo_profile_add_string(perf->profile, given->comm, err);
	*thread = allo_seen_thread(&perf->threads, given->pid, tid, err);
	return *thread != 0 && (given->comm.len == 0 ||
				allo_seen_thread_name(&perf->threads, *thread, given->comm, err));
}

static bool read_head(struct perf *perf, const struct allo_perf_head *given, struct allo_error *err)
{
	struct head head = { .is_there = true,
			     .has_time = given->has_time,
			     .has_period = given->has_period,
			     .time_ns = given->time_ns,
			     .period = given->period };

	if (!end_sample(perf, err) || !find_thread(perf, given, &head.thread, err) ||
	    (given->event.len > 0 &&
	     !find_event(perf, given->event, given->has_period, &head.event, err)))
		return false;
	if (allo_perf_starts_frame(given->rest)) {
		head.frame = frame_of(&perf->stacks, given->rest, err);
		if (head.frame == 0)
			return false;
	}
	perf->head = head;
	return true;
}

/* "# cmdline : /usr/bin/perf record -g ./server" */
static bool read_comment(struct perf *perf, struct allo_text line, struct allo_error *err)
{
	struct allo_text value = line;

	if (!allo_text_skip(&value, ALLO_TEXT("# cmdline : ")))
		return true;
	perf->profile->meta.command = allo_profile_add_string(perf->profile, value, err);
	return !allo_failed(err);
}

/* Messages of perf: standard error may go to the same file. */
static bool is_message(struct allo_text line)
{
	return allo_text_starts(line, ALLO_TEXT("[ perf ")) ||
	       allo_text_starts(line, ALLO_TEXT("Warning:")) ||
	       allo_text_starts(line, ALLO_TEXT("WARNING:"));
}

/* Records other than samples: "comm 15094 1015.298049: PERF_RECORD_MMAP2 ...". */
static bool is_record(struct allo_text line)
{
	return allo_text_find(line, ALLO_TEXT("PERF_RECORD_")) != (size_t)-1;
}

/* Whether a line is surely the head of a sample. */
static bool is_certain(const struct allo_perf_head *given)
{
	return given->has_time || (given->has_tid && given->event.len > 0);
}

/* Skips a bad line with the frames below it, which are not a whole stack. */
static bool skip_line(struct perf *perf, struct allo_text line, struct allo_error *err)
{
	if (perf->skipped.count == 0)
		allo_fail(&perf->skipped.first, ALLO_FORMAT, allo_input_pos(perf->in),
			  "expected \"comm tid time: event:\" or a frame, found \"%.*s\"",
			  ALLO_TEXT_ARG(line));
	if (perf->head.frame != 0 && !end_sample(perf, err))
		return false;
	perf->head.is_there = false;
	perf->is_skipping = true;
	return allo_reader_skip(perf->options, &perf->skipped, perf->sample_count,
				ALLO_NOTE_BAD_PART, &perf->profile->notes, err);
}

/* Reads a line that is not a frame. */
static bool read_other(struct perf *perf, struct allo_text line, size_t size,
		       struct allo_error *err)
{
	struct allo_perf_head given;
	bool is_head = allo_perf_parse_head(line, &given), is_at_start = perf->is_at_start;

	perf->is_at_start = false;

	if (is_head && is_certain(&given)) {
		perf->has_certain = true;
		perf->is_skipping = false;
		return read_head(perf, &given, err);
	}
	if (allo_perf_is_indented(perf->in->next[0])) {
		allo_note(&perf->profile->notes, ALLO_NOTE_ODD_LINE, allo_input_pos(perf->in));
		return true;
	}
	/* If frames follow, any text may be a name or an event, unless it is in the middle of a
	 * stack and the heads of this file look otherwise. */
	is_head = (is_at_start || !perf->has_certain) && is_followed_by_frame(perf, size, err);
	if (allo_failed(err))
		return false;
	/* The window may have moved. */
	line = allo_text_trim((struct allo_text){ perf->in->next, size });
	if (!is_head)
		return skip_line(perf, line, err);
	perf->is_skipping = false;
	if (!allo_perf_parse_head(line, &given))
		given = (struct allo_perf_head){ .comm = line };
	return read_head(perf, &given, err);
}

/* Whether frames begin here.  A line with leading spaces may also be a head: perf right-aligns
 * short names and ids. */
static bool is_stack(struct allo_text line)
{
	struct allo_perf_head given;

	return allo_perf_is_frame(line) &&
	       (line.data[0] == '\t' || !allo_perf_parse_head(line, &given) || !is_certain(&given));
}

/* Reads a line, or several lines of frames; false at the end of the input and at failure. */
static bool read_lines(struct perf *perf, struct allo_error *err)
{
	struct allo_text whole, line;
	bool ok;

	if (!peek_line(perf, &whole, err))
		return false;
	if (is_stack(whole))
		return read_stack(perf, err);
	line = allo_text_trim(whole);
	if (line.len == 0) {
		perf->is_skipping = false;
		perf->is_at_start = true;
	}
	if (line.len == 0 || is_message(line) || is_record(line))
		ok = end_sample(perf, err);
	else if (line.data[0] == '#')
		ok = read_comment(perf, line, err);
	else if (perf->in->is_stopped && whole.data[whole.len - 1] != '\n')
		ok = true; /* an incomplete line */
	else
		ok = read_other(perf, line, whole.len, err);
	if (ok)
		take(perf, whole.len, 1);
	return ok;
}

static bool read_all(struct perf *perf, struct allo_error *err)
{
	struct allo_profile *profile = perf->profile;

	while (read_lines(perf, err))
		;
	if (allo_failed(err) || (!perf->in->is_stopped && !end_sample(perf, err)))
		return false;
	if (!allo_bad_parts_check(&perf->skipped, perf->sample_count, err))
		return false;
	if (!perf->has_samples)
		return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = perf->in->name },
				 "has no samples");
	if (!allo_sample_clock_settle(&perf->clock, profile))
		return allo_fail_memory(err);
	profile->meta.clock = ALLO_CLOCK_NS;
	profile->meta.duration = allo_sample_clock_duration(&perf->clock);
	return true;
}

static bool fail_data(const struct allo_input *in, struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = in->name },
		  "is a perf.data file, which only perf can read");
	return allo_hint(err, "run \"perf script -i %s > FILE\", and read FILE", in->name);
}

static bool is_data(struct allo_text head)
{
	return allo_text_starts(head, ALLO_TEXT("PERFILE2"));
}

static bool read_perf(struct allo_input *in, const struct allo_read_options *options,
		      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(perf_done)
	struct perf perf = {
		.in = in, .options = options, .profile = profile, .is_at_start = true
	};

	if (is_data((struct allo_text){ in->next, allo_input_unread(in) }))
		return fail_data(in, err);
	if (options->trace.frequency > 0)
		perf.clock.period_ns = (uint64_t)(1e9 / options->trace.frequency + 0.5);
	perf.threads.profile = profile;
	stacks_init(&perf.stacks, in, options, profile);
	/* Sums are not drained before the end, so equal stacks must be found. */
	profile->is_portion &= options->wants_times;
	return allo_profile_add_metric(profile, ALLO_SAMPLES, NULL, err) && read_all(&perf, err);
}

/* Takes a line off the head of a file. */
static bool next_line(struct allo_text *head, struct allo_text *line)
{
	struct allo_text rest = *head;

	if (!allo_text_next(&rest, '\n', line))
		return false;
	*head = rest;
	return true;
}

/* Accepts a sample with a time and frames below it or on its line, or frames alone. */
static enum allo_guess probe_perf(struct allo_text head)
{
	struct allo_perf_head given;
	struct allo_text line;
	bool has_frames = false, has_head = false;
	bool may_be_head = false; /* the line before, if a frame follows */

	if (is_data(head))
		return ALLO_SURE;
	while (next_line(&head, &line)) {
		struct allo_text text = allo_text_trim(line);

		if (text.len == 0 || text.data[0] == '#' || is_message(text))
			continue;
		if (is_stack(line)) {
			if (has_head)
				return ALLO_SURE;
			has_frames = true;
			may_be_head = false;
		} else if (may_be_head) {
			return ALLO_NO;
		} else if (is_record(text)) {
			has_head = true;
		} else if (allo_perf_parse_head(text, &given)) {
			if (is_certain(&given) && allo_perf_starts_frame(given.rest))
				return ALLO_SURE;
			has_head |= given.has_time || given.event.len > 0;
			may_be_head = !given.has_time && given.event.len == 0;
		} else {
			may_be_head = !allo_perf_is_indented(line.data[0]);
		}
	}
	return has_frames ? ALLO_MAYBE : ALLO_NO;
}

const struct allo_reader allo_read_perf = {
	.name = "perf",
	.title = "samples of Linux perf, printed by perf script",
	.about = "The text of 'perf script' with any fields (-F): stacks below their "
		 "samples, frames on the same line, or frames alone. Source lines "
		 "(srcline) and inlined calls are read, other records are skipped. samples "
		 "counts samples. Periods, if there are any, are added up as cpu for clock "
		 "events and under the event's name for others. Frames without a symbol "
		 "are named after the file they are in. A line that is neither a sample nor a "
		 "frame is skipped with the rest of its stack, and reported; --strict refuses "
		 "it. Output formats with times get each "
		 "sample with its own time; it lasts for one period: that of the clock, or "
		 "the rate of --freq, or the most common distance between two samples of a "
		 "thread. For other formats samples are added up by stack and, if the "
		 "format holds labels, by thread.",
	.probe = probe_perf,
	.read = read_perf,
	.has_times = true,
};
