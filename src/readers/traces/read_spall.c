/*
 * read_spall.c - Spall traces: begin and end events of calls.
 *
 *     head, 32 bytes    magic, version, duration of a tick, 0
 *     versions 0, 1     each event has its process, thread and time
 *     version 3         buffers, each with events of one thread
 *     native version 3  packed buffers, with addresses instead of names
 *
 * Numbers are little-endian and unaligned.  Events of a thread are in time order, so they are
 * processed as they come; few exceptions are moved to the time of the event before.
 */
#include "base/assert.h"
#include "base/defer.h"
#include "base/io/input.h"
#include "base/text_ids.h"
#include "base/utf8.h"
#include "readers/traces/call_times.h"

#include <endian.h>
#include <math.h>

enum kind {
	KIND_BEGIN,
	KIND_END,
	KIND_PROCESS_NAME,
	KIND_THREAD_NAME,
};

struct event {
	enum kind kind;
	uint32_t pid, tid;
	uint64_t time_ns;
	struct allo_text name; /* in the window of the input, */
	bool has_address;      /* or has_address, and:  */
	uint64_t address;      /* the start of the function */
};

struct spall {
	struct allo_input *in;
	bool is_native;           /* functions have addresses */
	struct allo_text program; /* its path, valid until the first event, */
	uint64_t program_start;   /* and the address of its first byte */
	bool is_cut;              /* the file ends within an event */

	/* Private from here on. */
	bool (*next)(struct spall *spall, struct event *event, struct allo_error *err);
	bool has_args;     /* version 0 has none */
	double tick_ns;    /* how long a tick is */
	size_t size;       /* of the event at the front of the input */
	uint64_t left;     /* left in the current buffer, including that event */
	uint32_t pid, tid; /* of the buffer */
	/* Native files store differences from these. */
	uint64_t now; /* in ticks */
	uint64_t address;
};

enum {
	MAGIC_SIZE = 8,
	HEAD_SIZE = 32,
	NATIVE_HEAD_SIZE = 34,
	BUFFER_HEAD_SIZE = 20, /* of a native buffer, too */
	EVENT_BEGIN = 3,
	EVENT_END = 4,
	EVENT_PROCESS_NAME = 8,
	EVENT_THREAD_NAME = 9,
};

static const char manual_magic[MAGIC_SIZE] = "\x0d\xf0\xad\x0b";
static const char native_magic[MAGIC_SIZE] = "\x0d\xf0\xad\xab";

/* Numbers at the front of the input. */

static uint64_t number_at(const struct spall *spall, size_t offset, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, spall->in->next + offset, size);
	return le64toh(number);
}

static uint32_t u32_at(const struct spall *spall, size_t offset)
{
	return (uint32_t)number_at(spall, offset, 4);
}

static uint8_t u8_at(const struct spall *spall, size_t offset)
{
	return (uint8_t)spall->in->next[offset];
}

static double f64_at(const struct spall *spall, size_t offset)
{
	uint64_t bits = number_at(spall, offset, 8);
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static struct allo_text text_at(const struct spall *spall, size_t offset, size_t len)
{
	return (struct allo_text){ spall->in->next + offset, len };
}

/* Whether `count` bytes are available; an earlier end of the file is not a failure. */
static bool has(struct spall *spall, size_t count, struct allo_error *err)
{
	if (!allo_input_want(spall->in, count, err))
		return false;
	spall->is_cut = allo_input_unread(spall->in) < count;
	return !spall->is_cut;
}

static bool at_end(struct spall *spall, struct allo_error *err)
{
	return !allo_input_want(spall->in, 1, err) || allo_input_unread(spall->in) == 0;
}

static bool set_time(const struct spall *spall, double ticks, uint64_t *time_ns,
		     struct allo_error *err)
{
	double ns = ticks * spall->tick_ns;

	if (!(ns >= 0 && ns < 0x1p63))
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(spall->in),
				 "an event has the impossible time of %g ticks", ticks);
	*time_ns = (uint64_t)llround(ns);
	return true;
}

static bool set_whole_time(const struct spall *spall, uint64_t ticks, uint64_t *time_ns,
			   struct allo_error *err)
{
	*time_ns = ticks;
	/* A double cannot hold all tick counts exactly. */
	return (spall->tick_ns == 1 && ticks < 1ull << 63) ||
	       set_time(spall, (double)ticks, time_ns, err);
}

static bool fail_kind(const struct spall *spall, unsigned kind, struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, allo_input_pos(spall->in), "unknown event kind %u",
			 kind);
}

/* Versions 0 and 1. */

static bool next_flat(struct spall *spall, struct event *event, struct allo_error *err)
{
	enum { END_SIZE = 17 };
	size_t head = spall->has_args ? 20 : 18, category = spall->has_args;

	if (at_end(spall, err))
		return false;
	switch (u8_at(spall, 0)) {
	case EVENT_BEGIN:
		if (!has(spall, head, err))
			return false;
		spall->size = head + u8_at(spall, 17 + category) +
			      (spall->has_args ? u8_at(spall, 19) : 0);
		if (!has(spall, spall->size, err))
			return false;
		event->kind = KIND_BEGIN;
		event->name = text_at(spall, head, u8_at(spall, 17 + category));
		event->pid = u32_at(spall, 1 + category);
		event->tid = u32_at(spall, 5 + category);
		return set_time(spall, f64_at(spall, 9 + category), &event->time_ns, err);
	case EVENT_END:
		spall->size = END_SIZE;
		if (!has(spall, spall->size, err))
			return false;
		event->kind = KIND_END;
		event->pid = u32_at(spall, 1);
		event->tid = u32_at(spall, 5);
		return set_time(spall, f64_at(spall, 9), &event->time_ns, err);
	default:
		return fail_kind(spall, u8_at(spall, 0), err);
	}
}

/* Buffers. */

/* Moves to the buffer of the next event; false at the end and at failure. */
static bool next_buffer(struct spall *spall, struct allo_error *err)
{
	while (spall->left == 0) {
		if (at_end(spall, err) || !has(spall, BUFFER_HEAD_SIZE, err))
			return false;
		spall->left = u32_at(spall, 0);
		spall->tid = u32_at(spall, 4);
		if (spall->is_native)
			spall->now = number_at(spall, 8, 8);
		else
			spall->pid = u32_at(spall, 8);
		spall->address = 0;
		spall->in->next += BUFFER_HEAD_SIZE;
	}
	return !at_end(spall, err);
}

/* Whether `count` bytes of an event are available; it must not exceed its buffer. */
static bool has_in_buffer(struct spall *spall, size_t count, struct allo_error *err)
{
	if (count > spall->left)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(spall->in),
				 "an event goes beyond the end of its buffer");
	return has(spall, count, err);
}

static bool next_name(struct spall *spall, enum kind kind, struct event *event,
		      struct allo_error *err)
{
	if (!has_in_buffer(spall, 2, err))
		return false;
	spall->size = 2 + u8_at(spall, 1);
	if (!has_in_buffer(spall, spall->size, err))
		return false;
	event->kind = kind;
	event->name = text_at(spall, 2, u8_at(spall, 1));
	return true;
}

static bool next_buffered(struct spall *spall, struct event *event, struct allo_error *err)
{
	enum { BEGIN_HEAD = 11, END_SIZE = 9 };

	if (!next_buffer(spall, err))
		return false;
	event->pid = spall->pid;
	event->tid = spall->tid;
	switch (u8_at(spall, 0)) {
	case EVENT_BEGIN:
		if (!has_in_buffer(spall, BEGIN_HEAD, err))
			return false;
		spall->size = BEGIN_HEAD + u8_at(spall, 9) + u8_at(spall, 10);
		if (!has_in_buffer(spall, spall->size, err))
			return false;
		event->kind = KIND_BEGIN;
		event->name = text_at(spall, BEGIN_HEAD, u8_at(spall, 9));
		return set_whole_time(spall, number_at(spall, 1, 8), &event->time_ns, err);
	case EVENT_END:
		spall->size = END_SIZE;
		if (!has_in_buffer(spall, spall->size, err))
			return false;
		event->kind = KIND_END;
		return set_whole_time(spall, number_at(spall, 1, 8), &event->time_ns, err);
	case EVENT_PROCESS_NAME:
		return next_name(spall, KIND_PROCESS_NAME, event, err);
	case EVENT_THREAD_NAME:
		return next_name(spall, KIND_THREAD_NAME, event, err);
	default:
		return fail_kind(spall, u8_at(spall, 0), err);
	}
}

/* Native buffers: the first byte of an event has four fields of two bits, from the top: its kind
 * and the widths (1, 2, 4 or 8 bytes) of its numbers. */

static size_t width_of(const struct spall *spall, unsigned shift)
{
	return (size_t)1 << (u8_at(spall, 0) >> shift & 3);
}

static bool next_function(struct spall *spall, struct event *event, struct allo_error *err)
{
	size_t time = width_of(spall, 4), address = width_of(spall, 2);

	spall->size = 1 + time + address + width_of(spall, 0); /* the last field is the caller */
	if (!has_in_buffer(spall, spall->size, err))
		return false;
	spall->now += number_at(spall, 1, time);
	spall->address ^= number_at(spall, 1 + time, address);
	event->kind = KIND_BEGIN;
	event->has_address = true;
	event->address = spall->address;
	return set_whole_time(spall, spall->now, &event->time_ns, err);
}

static bool next_function_end(struct spall *spall, struct event *event, struct allo_error *err)
{
	size_t time = width_of(spall, 4);

	spall->size = 1 + time;
	if (!has_in_buffer(spall, spall->size, err))
		return false;
	spall->now += number_at(spall, 1, time);
	event->kind = KIND_END;
	return set_whole_time(spall, spall->now, &event->time_ns, err);
}

static bool next_named(struct spall *spall, struct event *event, struct allo_error *err)
{
	size_t time = width_of(spall, 2);
	size_t name = u8_at(spall, 0) & 2 ? 2 : 1, args = u8_at(spall, 0) & 1 ? 2 : 1;
	size_t head = 1 + time + name + args, name_len;

	if (!has_in_buffer(spall, head, err))
		return false;
	name_len = (size_t)number_at(spall, 1 + time, name);
	spall->size = head + name_len + (size_t)number_at(spall, 1 + time + name, args);
	if (!has_in_buffer(spall, spall->size, err))
		return false;
	spall->now += number_at(spall, 1, time);
	event->kind = KIND_BEGIN;
	event->name = text_at(spall, head, name_len);
	return set_whole_time(spall, spall->now, &event->time_ns, err);
}

static bool next_native(struct spall *spall, struct event *event, struct allo_error *err)
{
	unsigned kind;

	if (!next_buffer(spall, err))
		return false;
	event->tid = spall->tid;
	kind = u8_at(spall, 0) >> 4;
	if (kind < 4)
		return next_function(spall, event, err);
	if (kind < 8)
		return next_function_end(spall, event, err);
	if (kind == 9)
		return next_named(spall, event, err);
	return fail_kind(spall, kind, err);
}

/* All together. */

/* Whether a file begins with Spall's magic number. */
static bool is_spall(struct allo_text head)
{
	return head.len >= MAGIC_SIZE && (memcmp(head.data, manual_magic, MAGIC_SIZE) == 0 ||
					  memcmp(head.data, native_magic, MAGIC_SIZE) == 0);
}

static bool fail_cut(const struct spall *spall, struct allo_error *err)
{
	if (allo_failed(err))
		return false;
	allo_fail(err, ALLO_FORMAT, allo_input_pos_at(spall->in, spall->in->end),
		  "the file ends within its head");
	return allo_hint(err, "the file looks cut off");
}

static bool set_tick(struct spall *spall, double scale, struct allo_error *err)
{
	double unit = f64_at(spall, 16);

	spall->tick_ns = unit * scale;
	if (!(spall->tick_ns > 0 && spall->tick_ns < 0x1p63))
		return allo_fail(err, ALLO_FORMAT,
				 allo_input_pos_at(spall->in, spall->in->next + 16),
				 "a tick cannot be %g %s long", unit,
				 scale == 1 ? "nanoseconds" : "microseconds");
	return true;
}

static bool fail_version(const struct spall *spall, uint64_t version, struct allo_error *err)
{
	return allo_fail(
		err, ALLO_FORMAT, allo_input_pos_at(spall->in, spall->in->next + MAGIC_SIZE),
		"version %llu of the Spall format is not supported", (unsigned long long)version);
}

static bool open_native(struct spall *spall, uint64_t version, struct allo_error *err)
{
	size_t path;

	if (version != 3)
		return fail_version(spall, version, err);
	if (!has(spall, NATIVE_HEAD_SIZE, err))
		return fail_cut(spall, err);
	path = (size_t)number_at(spall, 32, 2);
	if (!has(spall, NATIVE_HEAD_SIZE + path, err))
		return fail_cut(spall, err);
	spall->program_start = number_at(spall, 24, 8);
	spall->program = text_at(spall, NATIVE_HEAD_SIZE, path);
	spall->next = next_native;
	spall->is_native = true;
	spall->size = NATIVE_HEAD_SIZE + path;
	return set_tick(spall, 1, err);
}

static bool open_manual(struct spall *spall, uint64_t version, struct allo_error *err)
{
	if (version > 3 || version == 2)
		return fail_version(spall, version, err);
	spall->next = version == 3 ? next_buffered : next_flat;
	spall->has_args = version > 0;
	spall->size = HEAD_SIZE;
	return set_tick(spall, version == 3 ? 1 : 1000, err);
}

/* Reads the head and initialises `spall`. */
static bool open_spall(struct spall *spall, struct allo_input *in, struct allo_error *err)
{
	uint64_t version;

	*spall = (struct spall){ .in = in };
	if (!is_spall((struct allo_text){ in->next, allo_input_unread(in) }))
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(in),
				 "expected Spall's magic number");
	if (!has(spall, HEAD_SIZE, err))
		return fail_cut(spall, err);
	version = number_at(spall, MAGIC_SIZE, 8);
	return memcmp(in->next, native_magic, MAGIC_SIZE) == 0 ? open_native(spall, version, err)
							       : open_manual(spall, version, err);
}

/* The next event, which stays at the front of the input until the next call; false at the end and
 * at failure. */
static bool next_event(struct spall *spall, struct event *event, struct allo_error *err)
{
	ALLO_ASSERT(spall->size <= allo_input_unread(spall->in));
	ALLO_ASSERT(spall->left == 0 || spall->size <= spall->left);
	spall->in->next += spall->size;
	spall->left -= spall->left > 0 ? spall->size : 0;
	spall->size = 0;
	*event = (struct event){ 0 };
	return spall->next(spall, event, err);
}

struct reader {
	struct allo_profile *profile;
	struct spall spall;
	struct allo_seen_threads threads;
	struct allo_call_times times;
	struct allo_text_ids names; /* to frames */
	allo_module_id program;     /* of a native file */
	uint64_t highest;           /* address */
	uint64_t events;
	struct allo_bad_parts late; /* events that are out of order */
};

static void reader_done(struct reader *reader)
{
	allo_seen_threads_done(&reader->threads);
	allo_call_times_done(&reader->times);
	allo_text_ids_done(&reader->names);
}

static struct allo_pos pos_of(const struct reader *reader)
{
	return allo_input_pos(reader->spall.in);
}

/* Frames. */

static allo_frame_id frame_of_name(struct reader *reader, struct allo_text name,
				   struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&reader->names, name);
	allo_frame_id frame = allo_text_ids_find(&reader->names, hash);

	if (frame != 0)
		return frame;
	if (!allo_utf8_is_valid(name))
		allo_note(&reader->profile->notes, ALLO_NOTE_BAD_UTF8, pos_of(reader));
	frame = allo_profile_add_named_frame(reader->profile, name, err);
	if (frame != 0 && !allo_text_ids_put(&reader->names, hash, frame)) {
		allo_fail_memory(err);
		return 0;
	}
	return frame;
}

static allo_frame_id frame_of_address(struct reader *reader, uint64_t address,
				      struct allo_error *err)
{
	struct allo_frame frame = { .address = address, .module = reader->program };

	if (address > reader->highest)
		reader->highest = address;
	return allo_profile_add_frame(reader->profile, &frame, NULL, 0, err);
}

static bool add_program(struct reader *reader, struct allo_error *err)
{
	const struct spall *spall = &reader->spall;
	struct allo_module module = {
		.start = spall->program_start,
		.path = allo_profile_add_string(reader->profile, spall->program, err),
		.is_guessed = true,
	};

	reader->highest = spall->program_start;
	reader->profile->meta.command = module.path;
	reader->program = allo_profile_add_module(reader->profile, &module, err);
	return !allo_failed(err);
}

/* Events. */

/* The time of an event, which is not before `now_ns`: clocks of several CPUs may differ a little.
 * False if the file has too many such events. */
static bool order_event(struct reader *reader, const char *what, uint64_t now_ns, uint64_t *time_ns,
			struct allo_error *err)
{
	if (*time_ns >= now_ns)
		return true;
	if (reader->late.count == 0)
		allo_fail(&reader->late.first, ALLO_FORMAT, pos_of(reader),
			  "a call %s at %llu ns, before the last event of its thread, at %llu ns",
			  what, (unsigned long long)*time_ns, (unsigned long long)now_ns);
	*time_ns = now_ns;
	return allo_reader_skip(reader->times.options, &reader->late,
				reader->events - reader->late.count, ALLO_NOTE_LATE_EVENT,
				&reader->profile->notes, err);
}

static bool begin_call(struct reader *reader, allo_thread_id thread, const struct event *event,
		       struct allo_error *err)
{
	uint64_t time_ns = event->time_ns;
	allo_frame_id frame;

	if (!order_event(reader, "begins", allo_call_times_now(&reader->times, thread), &time_ns,
			 err))
		return false;
	frame = event->has_address ? frame_of_address(reader, event->address, err)
				   : frame_of_name(reader, event->name, err);
	return frame != 0 && allo_call_times_begin(&reader->times, thread, frame, time_ns, err);
}

static bool end_call(struct reader *reader, allo_thread_id thread, const struct event *event,
		     struct allo_error *err)
{
	uint64_t time_ns = event->time_ns;

	if (allo_call_times_depth(&reader->times, thread) == 0) {
		allo_note(&reader->profile->notes, ALLO_NOTE_UNBEGUN_CALL, pos_of(reader));
		return true;
	}
	return order_event(reader, "ends", allo_call_times_now(&reader->times, thread), &time_ns,
			   err) &&
	       allo_call_times_end(&reader->times, thread, time_ns, err);
}

static bool take_event(struct reader *reader, const struct event *event, struct allo_error *err)
{
	allo_thread_id thread;

	if (event->kind == KIND_PROCESS_NAME)
		return allo_seen_process_name(&reader->threads, event->pid, event->name, err);
	thread = allo_seen_thread(&reader->threads, event->pid, event->tid, err);
	if (thread == 0)
		return false;
	switch (event->kind) {
	case KIND_BEGIN:
		return begin_call(reader, thread, event, err);
	case KIND_END:
		return end_call(reader, thread, event, err);
	default:
		return allo_seen_thread_name(&reader->threads, thread, event->name, err);
	}
}

static bool read_events(struct reader *reader, struct allo_error *err)
{
	struct event event;
	uint64_t open;

	while (next_event(&reader->spall, &event, err)) {
		reader->events++;
		if (!take_event(reader, &event, err))
			return false;
	}
	if (allo_failed(err) ||
	    !allo_bad_parts_check(&reader->late, reader->events - reader->late.count, err) ||
	    !allo_call_times_finish(&reader->times, &open, err))
		return false;
	allo_note_many(&reader->profile->notes, ALLO_NOTE_UNENDED_CALL, open, ALLO_NOWHERE);
	if (reader->spall.is_cut)
		allo_note(&reader->profile->notes, ALLO_NOTE_CUT, pos_of(reader));
	if (reader->program != 0)
		reader->profile->modules.at[reader->program].limit = reader->highest + 1;
	allo_seen_threads_end(&reader->threads);
	return true;
}

static bool read_spall(struct allo_input *in, const struct allo_read_options *options,
		       struct allo_profile *profile, struct allo_error *err)
{
	struct allo_read_options whole = *options;
	ALLO_DEFER(reader_done) struct reader reader = { .profile = profile };

	if (!open_spall(&reader.spall, in, err))
		return false;
	/* The module's limit is only known at the end. */
	if (reader.spall.is_native) {
		whole.drain = NULL;
		profile->is_portion = false;
	}
	reader.threads.profile = profile;
	reader.times.options = &whole;
	reader.times.profile = profile;
	reader.times.threads = &reader.threads;
	allo_text_ids_init(&reader.names);
	return (!reader.spall.is_native || add_program(&reader, err)) &&
	       allo_call_times_init(&reader.times, err) && read_events(&reader, err);
}

static enum allo_guess probe_spall(struct allo_text head)
{
	return is_spall(head) ? ALLO_SURE : ALLO_NO;
}

const struct allo_reader allo_read_spall = {
	.name = "spall",
	.title = "Spall traces: begin and end of each call",
	.about = "Versions 0, 1 and 3, and the files of the native viewer's automatic "
		 "tracer, whose functions are addresses. The metric is wall: the time that "
		 "a thread spent in a call but not in its callees. Output formats with "
		 "times get each of these intervals, so that the same calls can be written "
		 "again; for other formats they are added up by stack and, if the format "
		 "holds labels, by thread. Arguments of calls are dropped. A call without "
		 "an end ends with the last event of its thread. An event that is earlier "
		 "than the one before it in its thread gets that one's time and is "
		 "reported; --strict refuses the file.",
	.probe = probe_spall,
	.read = read_spall,
	.is_binary = true,
	.has_times = true,
};
