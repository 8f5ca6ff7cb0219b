/*
 * trace_samples.h - samples of a processor's time, as readers of traces find them.
 *
 * They become samples with times, one by one, or are added up by stack and labels, as it is wanted.
 * Without times of its own a thread's samples follow on each other, each as long as the periods
 * that it was counted.
 */
#ifndef ALLO_READERS_TRACE_SAMPLES_H
#define ALLO_READERS_TRACE_SAMPLES_H

#include "readers/reader.h"

/* Whose a sample is, how often it was counted, and when. */
struct allo_trace_sample {
	uint64_t count;
	uint64_t pid, tid;
	uint64_t time_ns;    /* by any clock */
	uint64_t cpu;        /* the processor's number */
	allo_string_id name; /* of the program or the thread; 0 when not known */
	bool has_pid, has_tid, has_time, has_cpu;
};

/* A thread and what is known of it. */
struct allo_traced_thread {
	uint64_t pid, tid; /* or what stands for the latter */
	allo_thread_id id;
	uint64_t counted; /* samples so far */
	/* The latest time, the latest before this portion, and what portion that is. */
	uint64_t latest, passed;
	uint64_t portion;
	/* Labels of its last sample, and what they say. */
	allo_labels_id labels;
	allo_string_id labels_name;
	uint64_t labels_cpu;
};

/* To be initialised. */
struct allo_trace {
	const struct allo_read_options *options;
	struct allo_profile *profile;
	struct allo_stack_builder builder;
	double period_ns;

	/* Private from here on. */
	ALLO_VEC(struct allo_traced_thread) threads;
	struct allo_map map; /* indices of `threads` + 1 */
	size_t last;         /* thread of the last sample */
	uint64_t portion;
	bool has_times;      /* some sample has */
	uint64_t start, end; /* of all times in the file, as far as they were seen */
};

/* Adds the metrics as well, and says how long a period is. */
bool allo_trace_init(struct allo_trace *trace, const struct allo_read_options *options,
		     struct allo_profile *profile, struct allo_error *err);
void allo_trace_done(struct allo_trace *trace);

/* Says that there will be samples with times, from this one on: those without follow on them. */
void allo_trace_expect_times(struct allo_trace *trace, uint64_t first_ns);

/*
 * Adds a sample of these frames, the innermost first.  False, without failure, if its time is
 * before one that was passed on already, with a portion: readers say where that is, by
 * allo_trace_fail_order().
 */
bool allo_trace_add(struct allo_trace *trace, const allo_frame_id *frames, size_t count,
		    const struct allo_trace_sample *sample, struct allo_error *err);

bool allo_trace_fail_order(struct allo_pos pos, struct allo_error *err);

/* After the last one. */
void allo_trace_end(struct allo_trace *trace);

#endif
