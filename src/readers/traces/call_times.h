/*
 * call_times.h - samples made of calls that begin and end.
 *
 * As long as nothing begins or ends on a thread, its innermost call is what it spends its time in:
 * each such stretch is a sample, of the calls that are open.  Where times are wanted, samples have
 * them, and say which calls go on from the one before, so that the same calls can be made of them
 * again: also those that take no time, which get samples of no duration.  Otherwise stretches are
 * added up.
 */
#ifndef ALLO_READERS_CALL_TIMES_H
#define ALLO_READERS_CALL_TIMES_H

#include "readers/reader.h"
#include "readers/traces/seen_threads.h"

/* The most calls that are open at once on a thread: viewers take no more. */
enum { ALLO_CALLS_DEPTH = 1 << 16 };

/* The calls of a thread. */
struct allo_call_track {
	ALLO_VEC(allo_frame_id) frames; /* of the calls that are open, the outermost first, */
	ALLO_VEC(allo_stack_id) stacks; /* and their stacks, */
	size_t stack_count;             /* of so many, */
	uint32_t portion;               /* in this portion of the profile */
	size_t going_on;                /* calls that have been open since the last sample */
	uint64_t now;                   /* when the last one began or ended */
};

/* All zeros but for the first three. */
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

/* When something last happened on a thread: nothing may happen before it. */
uint64_t allo_call_times_now(const struct allo_call_times *times, allo_thread_id thread);

/* How many calls are open on a thread. */
size_t allo_call_times_depth(const struct allo_call_times *times, allo_thread_id thread);

/* A call begins; false when memory is short, or there are too many. */
bool allo_call_times_begin(struct allo_call_times *times, allo_thread_id thread,
			   allo_frame_id frame, uint64_t time_ns, struct allo_error *err);

/* The innermost call of those that are open, which there must be, ends. */
bool allo_call_times_end(struct allo_call_times *times, allo_thread_id thread, uint64_t time_ns,
			 struct allo_error *err);

/* Nothing follows: calls that are open end with the last thing that has happened on their thread.
 * How many there were. */
bool allo_call_times_finish(struct allo_call_times *times, uint64_t *open, struct allo_error *err);

#endif
