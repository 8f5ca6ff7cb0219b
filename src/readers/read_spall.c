/*
 * read_spall.c - Spall's files: calls of threads that begin and end.
 *
 * They are read as they come, since each thread's are in the order of time.
 */
#include "base/defer.h"
#include "base/text_ids.h"
#include "base/utf8.h"
#include "readers/call_times.h"
#include "readers/spall_events.h"

struct reading {
	struct allo_profile *profile;
	struct allo_spall spall;
	struct allo_seen_threads threads;
	struct allo_call_times times;
	struct allo_text_ids names; /* to frames */
	allo_module_id program;     /* of a native file */
	uint64_t highest;           /* address */
};

static void reading_done(struct reading *reading)
{
	allo_seen_threads_done(&reading->threads);
	allo_call_times_done(&reading->times);
	allo_text_ids_done(&reading->names);
}

static struct allo_pos pos_of(const struct reading *reading)
{
	return allo_input_pos(reading->spall.in);
}

/* Frames. */

static allo_frame_id frame_of_name(struct reading *reading, struct allo_text name,
				   struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&reading->names, name);
	allo_frame_id frame = allo_text_ids_find(&reading->names, hash);

	if (frame != 0)
		return frame;
	if (!allo_utf8_is_valid(name))
		allo_note(&reading->profile->notes, ALLO_NOTE_BAD_UTF8, pos_of(reading));
	frame = allo_profile_add_named_frame(reading->profile, name, err);
	if (frame != 0 && !allo_text_ids_put(&reading->names, hash, frame)) {
		allo_fail_memory(err);
		return 0;
	}
	return frame;
}

static allo_frame_id frame_of_address(struct reading *reading, uint64_t address,
				      struct allo_error *err)
{
	struct allo_frame frame = { .address = address, .module = reading->program };

	if (address > reading->highest)
		reading->highest = address;
	return allo_profile_add_frame(reading->profile, &frame, NULL, 0, err);
}

static bool add_program(struct reading *reading, struct allo_error *err)
{
	const struct allo_spall *spall = &reading->spall;
	struct allo_module module = {
		.start = spall->program_start,
		.path = allo_profile_add_string(reading->profile, spall->program, err),
		.is_guessed = true,
	};

	reading->highest = spall->program_start;
	reading->profile->meta.command = module.path;
	reading->program = allo_profile_add_module(reading->profile, &module, err);
	return !allo_failed(err);
}

/* Events. */

static bool fail_order(const struct reading *reading, const char *what, uint64_t time_ns,
		       uint64_t now_ns, struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, pos_of(reading),
			 "a call %s at %llu ns, before what its thread did last, at %llu ns", what,
			 (unsigned long long)time_ns, (unsigned long long)now_ns);
}

static bool begin_call(struct reading *reading, allo_thread_id thread,
		       const struct allo_spall_event *event, struct allo_error *err)
{
	uint64_t now_ns = allo_call_times_now(&reading->times, thread);
	allo_frame_id frame;

	if (event->time_ns < now_ns)
		return fail_order(reading, "begins", event->time_ns, now_ns, err);
	frame = event->has_address ? frame_of_address(reading, event->address, err)
				   : frame_of_name(reading, event->name, err);
	return frame != 0 &&
	       allo_call_times_begin(&reading->times, thread, frame, event->time_ns, err);
}

static bool end_call(struct reading *reading, allo_thread_id thread,
		     const struct allo_spall_event *event, struct allo_error *err)
{
	uint64_t now_ns = allo_call_times_now(&reading->times, thread);

	if (allo_call_times_depth(&reading->times, thread) == 0) {
		allo_note(&reading->profile->notes, ALLO_NOTE_UNBEGUN_CALL, pos_of(reading));
		return true;
	}
	if (event->time_ns < now_ns)
		return fail_order(reading, "ends", event->time_ns, now_ns, err);
	return allo_call_times_end(&reading->times, thread, event->time_ns, err);
}

static bool take_event(struct reading *reading, const struct allo_spall_event *event,
		       struct allo_error *err)
{
	allo_thread_id thread;

	if (event->kind == ALLO_SPALL_PROCESS_NAME)
		return allo_seen_process_name(&reading->threads, event->pid, event->name, err);
	thread = allo_seen_thread(&reading->threads, event->pid, event->tid, err);
	if (thread == 0)
		return false;
	switch (event->kind) {
	case ALLO_SPALL_BEGIN:
		return begin_call(reading, thread, event, err);
	case ALLO_SPALL_END:
		return end_call(reading, thread, event, err);
	default:
		return allo_seen_thread_name(&reading->threads, thread, event->name, err);
	}
}

static bool read_events(struct reading *reading, struct allo_error *err)
{
	struct allo_spall_event event;
	uint64_t open;

	while (allo_spall_next(&reading->spall, &event, err)) {
		if (!take_event(reading, &event, err))
			return false;
	}
	if (allo_failed(err) || !allo_call_times_finish(&reading->times, &open, err))
		return false;
	allo_note_many(&reading->profile->notes, ALLO_NOTE_UNENDED_CALL, open, ALLO_NOWHERE);
	if (reading->spall.is_cut)
		allo_note(&reading->profile->notes, ALLO_NOTE_CUT, pos_of(reading));
	if (reading->program != 0)
		reading->profile->modules.at[reading->program].limit = reading->highest + 1;
	allo_seen_threads_end(&reading->threads);
	return true;
}

static bool read_spall(struct allo_input *in, const struct allo_read_options *options,
		       struct allo_profile *profile, struct allo_error *err)
{
	struct allo_read_options whole = *options;
	ALLO_DEFER(reading_done) struct reading reading = { .profile = profile };

	if (!allo_spall_open(&reading.spall, in, err))
		return false;
	/* Functions get their names in the end, when all of them are known. */
	if (reading.spall.is_native) {
		whole.drain = NULL;
		profile->is_portion = false;
	}
	reading.threads.profile = profile;
	reading.times.options = &whole;
	reading.times.profile = profile;
	reading.times.threads = &reading.threads;
	allo_text_ids_init(&reading.names);
	return (!reading.spall.is_native || add_program(&reading, err)) &&
	       allo_call_times_init(&reading.times, err) && read_events(&reading, err);
}

static enum allo_guess probe_spall(struct allo_text head)
{
	return allo_is_spall(head) ? ALLO_SURE : ALLO_NO;
}

const struct allo_reader allo_read_spall = {
	.name = "spall",
	.title = "calls that Spall shows on a line of time",
	.about = "Versions 0, 1 and 3, and what the automatic tracer of the native viewer writes: "
		 "its functions have addresses, which get names from the program if it is still "
		 "there. The metric is wall: the time that a thread spent in a call and not in "
		 "calls inside of it. Forms that have room for times get each of these stretches, "
		 "so that the same calls can be written again; for others they are added up by "
		 "stack and, if there is room for labels, by thread. Arguments of calls are left "
		 "out. Calls that do not end are taken to end with the last thing that their "
		 "thread does.",
	.probe = probe_spall,
	.read = read_spall,
	.is_binary = true,
	.has_times = true,
};
