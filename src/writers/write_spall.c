/*
 * write_spall.c - traces for the Spall viewer.
 *
 * Version 1 is one stream of events, each with its process and thread.  Version 3 groups events in
 * buffers, one thread per buffer, and has names for threads.  Ticks are whole nanoseconds, because
 * viewers drop fractions.  The format has other kinds of events, which the web viewer refuses.
 */
#include "base/assert.h"
#include "base/utf8.h"
#include "writers/slices.h"
#include "writers/writer.h"

#include <endian.h>
#include <stdlib.h>

enum {
	NAME_MOST = 255,        /* bytes */
	BUFFER_MOST = 60 << 10, /* of events; the web viewer takes up to 10 MiB */
	BUFFER_HEAD = 20,
	/* Kinds of events: */
	BEGIN = 3,
	END = 4,
	NAME_PROCESS = 8,
	NAME_THREAD = 9,
};

/* The name of a call in the file's encoding: the first byte is the length. */
typedef unsigned char *spall_name;

struct spall {
	struct allo_output *out;
	struct allo_slices slices;
	struct allo_arena arena;    /* of the names */
	ALLO_VEC(spall_name) names; /* by call; NULL until needed */
	allo_thread_id thread;      /* of the last event */
	struct allo_slice_thread numbers;
	bool has_thread;

	/* Only in version 3: */
	unsigned char *buffer; /* starts with its header; NULL in version 1 */
	size_t used;
	ALLO_VEC(bool) is_named;   /* by thread */
	struct allo_map processes; /* processes with a name, as thread + 1 */
};

/* Bytes. */

static unsigned char *put_byte(unsigned char *to, unsigned number)
{
	*to = (unsigned char)number;
	return to + 1;
}

static unsigned char *put_le32(unsigned char *to, uint32_t number)
{
	number = htole32(number);
	memcpy(to, &number, sizeof(number));
	return to + sizeof(number);
}

static unsigned char *put_le64(unsigned char *to, uint64_t number)
{
	number = htole64(number);
	memcpy(to, &number, sizeof(number));
	return to + sizeof(number);
}

static unsigned char *put_double(unsigned char *to, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return put_le64(to, bits);
}

/* Names. */

/* Encodes a name: the length, then up to 255 bytes of whole characters. */
static size_t fit_name(struct allo_text name, unsigned char out[1 + NAME_MOST])
{
	static const struct allo_text replacement = ALLO_TEXT_INIT(ALLO_UTF8_REPLACEMENT);
	size_t used = 0;

	while (name.len > 0) {
		size_t len = allo_utf8_character(name);
		struct allo_text part = len ? (struct allo_text){ name.data, len } : replacement;

		if (used + part.len > NAME_MOST)
			break;
		memcpy(out + 1 + used, part.data, part.len);
		used += part.len;
		name = allo_text_from(name, len ? len : 1);
	}
	out[0] = (unsigned char)used;
	return 1 + used;
}

static spall_name add_name(struct spall *s, uint32_t call)
{
	unsigned char fitted[1 + NAME_MOST];
	char scratch[ALLO_NAME_SCRATCH];
	size_t len = fit_name(allo_slices_name(&s->slices, call, scratch), fitted);
	spall_name name;

	if (!allo_vec_cover(&s->names, s->slices.calls.calls.len))
		return NULL;
	name = allo_arena_alloc(&s->arena, len, 1, 1);
	if (name)
		memcpy(name, fitted, len);
	return s->names.at[call] = name;
}

/* NULL when memory is short. */
static inline spall_name name_of(struct spall *s, uint32_t call)
{
	spall_name name = call < s->names.len ? s->names.at[call] : NULL;

	return name ? name : add_name(s, call);
}

/* Version 1. */

static inline void find_numbers(struct spall *s, allo_thread_id thread)
{
	if (s->has_thread && thread == s->thread)
		return;
	s->thread = thread;
	s->numbers = allo_slices_thread(s->slices.profile, thread);
	s->has_thread = true;
}

static void begin_v1(void *context, allo_thread_id thread, uint32_t call, uint64_t time)
{
	struct spall *s = context;
	spall_name name = name_of(s, call);
	unsigned char *to;

	if (!name) {
		allo_output_fail_memory(s->out);
		return;
	}
	find_numbers(s, thread);
	to = (unsigned char *)allo_output_room(s->out, 20 + NAME_MOST);
	to = put_byte(to, BEGIN);
	to = put_byte(to, 0); /* category */
	to = put_le32(to, s->numbers.pid);
	to = put_le32(to, s->numbers.tid);
	to = put_double(to, (double)time);
	to = put_byte(to, name[0]);
	to = put_byte(to, 0); /* of arguments */
	memcpy(to, name + 1, name[0]);
	allo_output_wrote(s->out, (char *)to + name[0]);
}

static void end_v1(void *context, allo_thread_id thread, uint32_t call, uint64_t time)
{
	struct spall *s = context;
	unsigned char *to = (unsigned char *)allo_output_room(s->out, 17);

	(void)call;
	find_numbers(s, thread);
	to = put_byte(to, END);
	to = put_le32(to, s->numbers.pid);
	to = put_le32(to, s->numbers.tid);
	to = put_double(to, (double)time);
	allo_output_wrote(s->out, (char *)to);
}

/* Version 3. */

static void flush_buffer(struct spall *s)
{
	unsigned char *to = s->buffer;

	if (s->used == BUFFER_HEAD)
		return;
	to = put_le32(to, (uint32_t)(s->used - BUFFER_HEAD));
	to = put_le32(to, s->numbers.tid);
	to = put_le32(to, s->numbers.pid);
	put_le64(to, 0);
	allo_output_bytes(s->out, s->buffer, s->used);
	s->used = BUFFER_HEAD;
}

static void put_name(struct spall *s, unsigned kind, struct allo_text text)
{
	unsigned char name[1 + NAME_MOST];
	size_t len = fit_name(text, name);

	if (text.len == 0)
		return;
	put_byte(s->buffer + s->used, kind);
	memcpy(s->buffer + s->used + 1, name, len);
	s->used += 1 + len;
}

/* Whether the process of the current thread has no name yet. */
static bool is_new_process(struct spall *s)
{
	uint64_t hash = allo_hash_pair(s->numbers.pid, 0, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&s->processes, hash);
	uint32_t found;

	while ((found = allo_map_next(&s->processes, &probe)) != 0) {
		if (allo_slices_thread(s->slices.profile, found - 1).pid == s->numbers.pid)
			return false;
	}
	if (!allo_map_put(&s->processes, hash, s->thread + 1))
		allo_output_fail_memory(s->out);
	return true;
}

static void put_names(struct spall *s)
{
	const struct allo_profile *profile = s->slices.profile;
	struct allo_thread thread;
	struct allo_text name;

	if (!allo_vec_cover(&s->is_named, (size_t)s->thread + 1)) {
		allo_output_fail_memory(s->out);
		return;
	}
	if (s->is_named.at[s->thread])
		return;
	s->is_named.at[s->thread] = true;
	if (s->thread == 0)
		return;
	thread = profile->threads.at[s->thread];
	name = allo_profile_text(profile, thread.process_name ? thread.process_name : thread.name);
	if (name.len > 0 && is_new_process(s))
		put_name(s, NAME_PROCESS, name);
	put_name(s, NAME_THREAD, allo_profile_text(profile, thread.name));
}

/* Room for one event in the current thread's buffer; starts a new buffer if needed. */
static unsigned char *room_v3(struct spall *s, allo_thread_id thread)
{
	if (s->used > BUFFER_MOST || !s->has_thread || thread != s->thread) {
		flush_buffer(s);
		find_numbers(s, thread);
		put_names(s);
	}
	return s->buffer + s->used;
}

static void begin_v3(void *context, allo_thread_id thread, uint32_t call, uint64_t time)
{
	struct spall *s = context;
	spall_name name = name_of(s, call);
	unsigned char *to = room_v3(s, thread);

	if (!name) {
		allo_output_fail_memory(s->out);
		return;
	}
	ALLO_ASSERT(s->used <= BUFFER_HEAD + BUFFER_MOST + 3 * (20 + NAME_MOST));
	to = put_byte(to, BEGIN);
	to = put_le64(to, time);
	to = put_byte(to, name[0]);
	to = put_byte(to, 0); /* of arguments */
	memcpy(to, name + 1, name[0]);
	s->used = (size_t)(to + name[0] - s->buffer);
}

static void end_v3(void *context, allo_thread_id thread, uint32_t call, uint64_t time)
{
	struct spall *s = context;
	unsigned char *to = room_v3(s, thread);

	(void)call;
	to = put_byte(to, END);
	to = put_le64(to, time);
	ALLO_ASSERT(s->has_thread && s->thread == thread);
	s->used = (size_t)(to - s->buffer);
}

/* All together. */

static void put_head(struct allo_output *out, uint64_t version)
{
	unsigned char head[32], *to = head;

	to = put_le64(to, 0x0badf00d);
	to = put_le64(to, version);
	/* A tick is a nanosecond.  Version 1 states microseconds per tick, version 3 nanoseconds.
	 */
	to = put_double(to, version == 1 ? 0.001 : 1);
	put_le64(to, 0);
	allo_output_bytes(out, head, sizeof(head));
}

static bool begin_spall(struct allo_write_job *w, struct allo_error *err)
{
	struct spall *s = w->state = calloc(1, sizeof(*s));
	bool is_v3 = w->options->version == 3;

	if (!s)
		return allo_fail_memory(err);
	s->out = w->out;
	s->slices.sink = is_v3 ? (struct allo_slice_sink){ begin_v3, end_v3, s }
			       : (struct allo_slice_sink){ begin_v1, end_v1, s };
	if (is_v3) {
		/* Two names and an event may follow in a buffer that is almost full. */
		s->buffer = malloc(BUFFER_HEAD + BUFFER_MOST + 4 * (20 + NAME_MOST));
		s->used = BUFFER_HEAD;
		if (!s->buffer)
			return allo_fail_memory(err);
	}
	put_head(w->out, is_v3 ? 3 : 1);
	return true;
}

static bool add_spall(struct allo_write_job *w, const struct allo_profile *portion,
		      struct allo_error *err)
{
	struct spall *s = w->state;

	return allo_slices_add(&s->slices, portion, err);
}

static bool end_spall(struct allo_write_job *w, const struct allo_profile *profile,
		      struct allo_error *err)
{
	struct spall *s = w->state;

	if (!allo_slices_end(&s->slices, profile, err))
		return false;
	if (s->buffer)
		flush_buffer(s);
	return true;
}

static void drop_spall(struct allo_write_job *w)
{
	struct spall *s = w->state;

	if (!s)
		return;
	allo_slices_done(&s->slices);
	allo_arena_done(&s->arena);
	allo_vec_done(&s->names);
	allo_vec_done(&s->is_named);
	allo_map_done(&s->processes);
	free(s->buffer);
	free(s);
	w->state = NULL;
}

const struct allo_writer allo_write_spall = {
	.name = "spall",
	.title = "a trace for Spall, which draws calls over time",
	.about = "Calls of each thread, with their start and end. Consecutive samples of a "
		 "trace that share their outermost calls make one call of each; a thread has a "
		 "gap where it was not sampled. Profiles without times are drawn as if their "
		 "numbers were times: a byte is a nanosecond wide, a caller is as wide as its "
		 "callees together or wider, and the widest comes first.\n\n"
		 "Version 1 of the format, which all viewers read, is the default; "
		 "--format-version 3 writes the version that has names for threads. Names end at "
		 "255 bytes.",
	.endings = ".spall",
	.versions = "1 3",
	.holds = ALLO_HOLDS_INLINES | ALLO_HOLDS_TIMES,
	.is_binary = true,
	.begin = begin_spall,
	.add = add_spall,
	.end = end_spall,
	.drop = drop_spall,
};
