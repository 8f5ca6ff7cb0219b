/*
 * slices.h - calls with a start and an end, made from samples, for formats that draw a time line.
 *
 * A call of a thread lasts as long as consecutive samples show it, together with all its callers,
 * or as long as samples say that it continues (going_on).  If a thread was not sampled for longer
 * than half of its last sample's duration after the end of that sample, it was idle: all of its
 * calls ended with the sample.
 *
 * Samples without times become a time line as well.  The width of a call is the metric that the
 * profile prefers, equal calls are joined, and the widest comes first.
 *
 * Each start has its end.  The events of a thread come in the order of time, and the innermost call
 * ends first.  Portions (see writer.h) may come and go: only the open calls of each thread stay in
 * memory, or the distinct stacks of samples without times.
 */
#ifndef ALLO_WRITERS_SLICES_H
#define ALLO_WRITERS_SLICES_H

#include "writers/calls.h"

/* Calls open at once in a thread, at most: Spall's viewer counts them in 16 bits.  Deeper calls are
 * left out. */
enum { ALLO_SLICES_DEPTH = 65000 };

/* Takes starts and ends of calls.  `call` is a number of calls.h.  Times are nanoseconds, or units
 * of the metric.  Of threads with the same pid and tid only the first is used. */
struct allo_slice_sink {
	void (*begin)(void *context, allo_thread_id thread, uint32_t call, uint64_t time);
	void (*end)(void *context, allo_thread_id thread, uint32_t call, uint64_t time);
	void *context;
};

/* The open calls of a thread, the outermost first. */
struct allo_open_calls {
	ALLO_VEC(uint32_t) calls;
	uint64_t now;         /* time of the last event; later events are not before it */
	uint64_t latest;      /* start of the last sample seen */
	uint64_t end;         /* end of the last sample */
	uint64_t longest_gap; /* after it, in which its calls are taken to continue */
};

/* All zeros, except for the sink, is ready for use. */
struct allo_slices {
	struct allo_slice_sink sink;
	/* For the sink: the profile that threads and calls refer to. */
	const struct allo_profile *profile;
	struct allo_calls calls;

	/* Private from here on. */
	ALLO_VEC(struct allo_open_calls) threads; /* by id */
	ALLO_VEC(allo_thread_id) first_of; /* by id: the first thread with the same pid and tid */
	struct allo_map thread_map;        /* of ids + 1 */
	ALLO_VEC(uint32_t) order; /* of a portion's samples, if they are not in the order of time */
	ALLO_VEC(allo_frame_id) frames; /* of a sample, the innermost first */
	ALLO_VEC(uint32_t) stack;       /* its calls, the outermost first */
	bool has_times;                 /* samples have times */
	struct allo_profile untimed;    /* samples without times, added up */
};

void allo_slices_done(struct allo_slices *slices);

/* Adds a profile or a portion of one.  Within a portion samples may come in any order.  Portions
 * must be in the order of time: a sample that is earlier than the portion before is drawn late. */
bool allo_slices_add(struct allo_slices *slices, const struct allo_profile *portion,
		     struct allo_error *err);

/* Ends all calls. */
bool allo_slices_end(struct allo_slices *slices, const struct allo_profile *profile,
		     struct allo_error *err);

/* The pid and tid of a thread in 32 bits, for viewers; numbers that do not fit are replaced. */
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
