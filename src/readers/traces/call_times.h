/*
 * call_times.h - turns begin and end events of calls into samples.
 *
 * Between two events of a thread, its time belongs to the innermost open call: each such interval
 * is a sample with the stack of open calls.  If times are wanted, samples have them, and tell which
 * calls continue from the sample before, so that the calls can be reconstructed; calls without
 * duration get samples of no duration.  Otherwise intervals are added up by stack.
 */
#ifndef ALLO_READERS_CALL_TIMES_H
#define ALLO_READERS_CALL_TIMES_H

#include "readers/reader.h"
#include "readers/traces/seen_threads.h"

/* Limit of open calls per thread: viewers accept no more. */
enum { ALLO_CALLS_DEPTH = 1 << 16 };

/* The calls of a thread. */
struct allo_call_track {
	ALLO_VEC(allo_frame_id) frames; /* of the open calls, the outermost first, */
	ALLO_VEC(allo_stack_id) stacks; /* and their stacks, */
	size_t stack_count;             /* of so many, */
	uint32_t portion;               /* in this portion of the profile */
	size_t going_on;                /* calls that were open in the last sample */
	uint64_t now;                   /* time of the thread's last event */
};

/* Set the first three fields, leave the rest zero. */
struct allo_call_times {
	const struct allo_read_options *options;
	struct allo_profile *profile;
	struct allo_seen_threads *threads;

	/* Private from here on. */
	ALLO_VEC(struct allo_call_track) tracks; /* by thread */
	uint32_t portion;
	bool has_begun;
	uint64_t first_ns, last_ns; /* of all threads */
};

/* Adds the metric to the profile. */
bool allo_call_times_init(struct allo_call_times *times, struct allo_error *err);
void allo_call_times_done(struct allo_call_times *times);

/* The time of a thread's last event: later calls must not pass an earlier time. */
uint64_t allo_call_times_now(const struct allo_call_times *times, allo_thread_id thread);

/* The number of open calls of a thread. */
size_t allo_call_times_depth(const struct allo_call_times *times, allo_thread_id thread);

/* A call begins; false when memory is short, or there are too many. */
bool allo_call_times_begin(struct allo_call_times *times, allo_thread_id thread,
			   allo_frame_id frame, uint64_t time_ns, struct allo_error *err);

/* Ends the innermost open call, which must exist. */
bool allo_call_times_end(struct allo_call_times *times, allo_thread_id thread, uint64_t time_ns,
			 struct allo_error *err);

/* Ends all open calls at the time of their thread's last event; `open` gets their number. */
bool allo_call_times_finish(struct allo_call_times *times, uint64_t *open, struct allo_error *err);

#endif
