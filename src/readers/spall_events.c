/* spall_events.c - see spall_events.h. */
#include "readers/spall_events.h"

#include <endian.h>
#include <math.h>

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

static uint64_t number_at(const struct allo_spall *spall, size_t offset, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, spall->in->next + offset, size);
	return le64toh(number);
}

static uint32_t u32_at(const struct allo_spall *spall, size_t offset)
{
	return (uint32_t)number_at(spall, offset, 4);
}

static uint8_t u8_at(const struct allo_spall *spall, size_t offset)
{
	return (uint8_t)spall->in->next[offset];
}

static double f64_at(const struct allo_spall *spall, size_t offset)
{
	uint64_t bits = number_at(spall, offset, 8);
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static struct allo_text text_at(const struct allo_spall *spall, size_t offset, size_t len)
{
	return (struct allo_text){ spall->in->next + offset, len };
}

/* Whether so many bytes are there; the file may end before, which is no failure. */
static bool has(struct allo_spall *spall, size_t count, struct allo_error *err)
{
	if (!allo_input_want(spall->in, count, err))
		return false;
	spall->is_cut = allo_input_unread(spall->in) < count;
	return !spall->is_cut;
}

static bool at_end(struct allo_spall *spall, struct allo_error *err)
{
	return !allo_input_want(spall->in, 1, err) || allo_input_unread(spall->in) == 0;
}

static bool set_time(const struct allo_spall *spall, double ticks, uint64_t *time_ns,
		     struct allo_error *err)
{
	double ns = ticks * spall->tick_ns;

	if (!(ns >= 0 && ns < 0x1p63))
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(spall->in),
				 "an event's time, %g ticks, cannot be", ticks);
	*time_ns = (uint64_t)llround(ns);
	return true;
}

static bool set_whole_time(const struct allo_spall *spall, uint64_t ticks, uint64_t *time_ns,
			   struct allo_error *err)
{
	*time_ns = ticks;
	/* A double would not hold all of the ticks. */
	return (spall->tick_ns == 1 && ticks < 1ull << 63) ||
	       set_time(spall, (double)ticks, time_ns, err);
}

static bool fail_kind(const struct allo_spall *spall, unsigned kind, struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, allo_input_pos(spall->in),
			 "there is no event of kind %u", kind);
}

/* Versions 0 and 1. */

static bool next_flat(struct allo_spall *spall, struct allo_spall_event *event,
		      struct allo_error *err)
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
		event->kind = ALLO_SPALL_BEGIN;
		event->name = text_at(spall, head, u8_at(spall, 17 + category));
		event->pid = u32_at(spall, 1 + category);
		event->tid = u32_at(spall, 5 + category);
		return set_time(spall, f64_at(spall, 9 + category), &event->time_ns, err);
	case EVENT_END:
		spall->size = END_SIZE;
		if (!has(spall, spall->size, err))
			return false;
		event->kind = ALLO_SPALL_END;
		event->pid = u32_at(spall, 1);
		event->tid = u32_at(spall, 5);
		return set_time(spall, f64_at(spall, 9), &event->time_ns, err);
	default:
		return fail_kind(spall, u8_at(spall, 0), err);
	}
}

/* Buffers. */

/* Goes to the next event's buffer, if it is not the same; false at the end and at failure. */
static bool next_buffer(struct allo_spall *spall, struct allo_error *err)
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

/* The same for an event, which must not go beyond its buffer. */
static bool has_in_buffer(struct allo_spall *spall, size_t count, struct allo_error *err)
{
	if (count > spall->left)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(spall->in),
				 "an event goes beyond the end of its buffer");
	return has(spall, count, err);
}

static bool next_name(struct allo_spall *spall, enum allo_spall_kind kind,
		      struct allo_spall_event *event, struct allo_error *err)
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

static bool next_buffered(struct allo_spall *spall, struct allo_spall_event *event,
			  struct allo_error *err)
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
		event->kind = ALLO_SPALL_BEGIN;
		event->name = text_at(spall, BEGIN_HEAD, u8_at(spall, 9));
		return set_whole_time(spall, number_at(spall, 1, 8), &event->time_ns, err);
	case EVENT_END:
		spall->size = END_SIZE;
		if (!has_in_buffer(spall, spall->size, err))
			return false;
		event->kind = ALLO_SPALL_END;
		return set_whole_time(spall, number_at(spall, 1, 8), &event->time_ns, err);
	case EVENT_PROCESS_NAME:
		return next_name(spall, ALLO_SPALL_PROCESS_NAME, event, err);
	case EVENT_THREAD_NAME:
		return next_name(spall, ALLO_SPALL_THREAD_NAME, event, err);
	default:
		return fail_kind(spall, u8_at(spall, 0), err);
	}
}

/* Native buffers: what the first byte of an event says, two bits each from above, is its kind, and
 * of how many bytes (1, 2, 4, 8) its numbers are. */

static size_t width_of(const struct allo_spall *spall, unsigned shift)
{
	return (size_t)1 << (u8_at(spall, 0) >> shift & 3);
}

static bool next_function(struct allo_spall *spall, struct allo_spall_event *event,
			  struct allo_error *err)
{
	size_t time = width_of(spall, 4), address = width_of(spall, 2);

	spall->size = 1 + time + address + width_of(spall, 0); /* the last is the caller's */
	if (!has_in_buffer(spall, spall->size, err))
		return false;
	spall->now += number_at(spall, 1, time);
	spall->address ^= number_at(spall, 1 + time, address);
	event->kind = ALLO_SPALL_BEGIN;
	event->has_address = true;
	event->address = spall->address;
	return set_whole_time(spall, spall->now, &event->time_ns, err);
}

static bool next_function_end(struct allo_spall *spall, struct allo_spall_event *event,
			      struct allo_error *err)
{
	size_t time = width_of(spall, 4);

	spall->size = 1 + time;
	if (!has_in_buffer(spall, spall->size, err))
		return false;
	spall->now += number_at(spall, 1, time);
	event->kind = ALLO_SPALL_END;
	return set_whole_time(spall, spall->now, &event->time_ns, err);
}

static bool next_named(struct allo_spall *spall, struct allo_spall_event *event,
		       struct allo_error *err)
{
	size_t time = width_of(spall, 2);
	size_t name = u8_at(spall, 0) & 2 ? 2 : 1, args = u8_at(spall, 0) & 1 ? 2 : 1;
	size_t head = 1 + time + name + args;

	if (!has_in_buffer(spall, head, err))
		return false;
	spall->size = head + number_at(spall, 1 + time, name) +
		      number_at(spall, 1 + time + name, args);
	if (!has_in_buffer(spall, spall->size, err))
		return false;
	spall->now += number_at(spall, 1, time);
	event->kind = ALLO_SPALL_BEGIN;
	event->name = text_at(spall, head, number_at(spall, 1 + time, name));
	return set_whole_time(spall, spall->now, &event->time_ns, err);
}

static bool next_native(struct allo_spall *spall, struct allo_spall_event *event,
			struct allo_error *err)
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

bool allo_is_spall(struct allo_text head)
{
	return head.len >= MAGIC_SIZE && (memcmp(head.data, manual_magic, MAGIC_SIZE) == 0 ||
					  memcmp(head.data, native_magic, MAGIC_SIZE) == 0);
}

static bool fail_cut(const struct allo_spall *spall, struct allo_error *err)
{
	if (allo_failed(err))
		return false;
	allo_fail(err, ALLO_FORMAT, allo_input_pos_at(spall->in, spall->in->end),
		  "the file ends before its head does");
	return allo_hint(err, "the file looks cut off");
}

static bool set_tick(struct allo_spall *spall, double scale, struct allo_error *err)
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

static bool fail_version(const struct allo_spall *spall, uint64_t version, struct allo_error *err)
{
	return allo_fail(
		err, ALLO_FORMAT, allo_input_pos_at(spall->in, spall->in->next + MAGIC_SIZE),
		"version %llu of Spall's format is not known", (unsigned long long)version);
}

static bool open_native(struct allo_spall *spall, uint64_t version, struct allo_error *err)
{
	size_t path;

	if (version != 3)
		return fail_version(spall, version, err);
	if (!has(spall, NATIVE_HEAD_SIZE, err))
		return fail_cut(spall, err);
	path = number_at(spall, 32, 2);
	if (!has(spall, NATIVE_HEAD_SIZE + path, err))
		return fail_cut(spall, err);
	spall->program_start = number_at(spall, 24, 8);
	spall->program = text_at(spall, NATIVE_HEAD_SIZE, path);
	spall->next = next_native;
	spall->is_native = true;
	spall->size = NATIVE_HEAD_SIZE + path;
	return set_tick(spall, 1, err);
}

static bool open_manual(struct allo_spall *spall, uint64_t version, struct allo_error *err)
{
	if (version > 3 || version == 2)
		return fail_version(spall, version, err);
	spall->next = version == 3 ? next_buffered : next_flat;
	spall->has_args = version > 0;
	spall->size = HEAD_SIZE;
	return set_tick(spall, version == 3 ? 1 : 1000, err);
}

bool allo_spall_open(struct allo_spall *spall, struct allo_input *in, struct allo_error *err)
{
	uint64_t version;

	*spall = (struct allo_spall){ .in = in };
	if (!allo_is_spall((struct allo_text){ in->next, allo_input_unread(in) }))
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(in),
				 "expected Spall's magic number");
	if (!has(spall, HEAD_SIZE, err))
		return fail_cut(spall, err);
	version = number_at(spall, MAGIC_SIZE, 8);
	return memcmp(in->next, native_magic, MAGIC_SIZE) == 0 ? open_native(spall, version, err)
							       : open_manual(spall, version, err);
}

bool allo_spall_next(struct allo_spall *spall, struct allo_spall_event *event,
		     struct allo_error *err)
{
	spall->in->next += spall->size;
	spall->left -= spall->left > 0 ? spall->size : 0;
	spall->size = 0;
	*event = (struct allo_spall_event){ 0 };
	return spall->next(spall, event, err);
}
