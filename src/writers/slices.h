/*
 * slices.h - calls that begin and end, made of samples, for forms that draw a line of time.
 *
 * A thread's calls go on as long as its samples say the same, from the root as far as they do, or
 * as far as they are said to (going_on).  Where a thread was not sampled for longer than half of
 * its last sample's duration after that has ended, it was idle: all of its calls have ended then.
 *
 * Samples without times become a line as well: calls are as wide as the metric that the profile
 * prefers says, those that call the same are one, and the widest comes first.
 *
 * Each beginning has its end, those of a thread come in the order of time, and the innermost call
 * ends first.  Portions (see writer.h) may come and go: what is kept is the open calls of each
 * thread, or the distinct stacks of samples without times.
 */
#ifndef ALLO_WRITERS_SLICES_H
#define ALLO_WRITERS_SLICES_H

#include "writers/calls.h"

/* The most calls that are open at once: Spall's viewer counts them in 16 bits.  Calls further
 * inside are left out. */
enum { ALLO_SLICES_DEPTH = 65000 };

/* Takes beginnings and ends.  `call` is a number of calls.h; times are nanoseconds, or units of the
 * metric.  Of threads that have the same numbers only the first is ever told. */
struct allo_slice_sink {
	void (*begin)(void *context, allo_thread_id thread, uint32_t call, uint64_t time);
	void (*end)(void *context, allo_thread_id thread, uint32_t call, uint64_t time);
	void *context;
};

/* The calls of a thread that have begun and not ended, the outermost first. */
struct allo_open_calls {
	ALLO_VEC(uint32_t) calls;
	uint64_t now;         /* nothing is told that is before it */
	uint64_t latest;      /* start of a sample, told or not */
	uint64_t end;         /* of the last sample */
	uint64_t longest_gap; /* behind it, in which its calls are thought to go on */
};

/* All zeros but for the sink. */
struct allo_slices {
	struct allo_slice_sink sink;
	/* While the sink is called: what threads and the numbers of calls refer to. */
	const struct allo_profile *profile;
	struct allo_calls calls;

	/* Private from here on. */
	ALLO_VEC(struct allo_open_calls) threads; /* by id, */
	ALLO_VEC(allo_thread_id) first_of;        /* of those with the same numbers the first's */
	struct allo_map thread_map;               /* of ids + 1 */
	ALLO_VEC(uint32_t) order;                 /* of a portion's samples that are in none */
	ALLO_VEC(allo_frame_id) frames;           /* of a sample, the innermost first */
	ALLO_VEC(uint32_t) stack;                 /* its calls, the outermost first */
	bool has_times;                           /* samples with times have come, */
	struct allo_profile untimed;              /* or these, all together */
};

void allo_slices_done(struct allo_slices *slices);

/* A profile or a portion of one.  Samples need not be in the order of time within it, but portions
 * are: what is earlier than a sample of its thread in a portion before is drawn late. */
bool allo_slices_add(struct allo_slices *slices, const struct allo_profile *portion,
		     struct allo_error *err);

/* Ends all calls. */
bool allo_slices_end(struct allo_slices *slices, const struct allo_profile *profile,
		     struct allo_error *err);

/* A thread's numbers as viewers take them, of 32 bits; those that do not fit get others. */
struct allo_slice_thread {
	uint32_t pid, tid;
};
struct allo_slice_thread allo_slices_thread(const struct allo_profile *profile, allo_thread_id id);

/* The name of a call, for the sink. */
static inline struct allo_text allo_slices_name(const struct allo_slices *slices, uint32_t call,
						char scratch[ALLO_NAME_SCRATCH])
{
	return allo_calls_name(&slices->calls, slices->profile, call, scratch);
}

#endif
