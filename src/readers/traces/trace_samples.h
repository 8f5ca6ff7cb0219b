/*
 * trace_samples.h - samples of CPU time that readers of traces find.
 *
 * If times are wanted, they become samples with times, one by one; else they are added up by stack
 * and labels.  Samples without times follow each other within their thread, each as long as its
 * count of periods.
 */
#ifndef ALLO_READERS_TRACE_SAMPLES_H
#define ALLO_READERS_TRACE_SAMPLES_H

#include "readers/reader.h"

/* A sample: its thread, count and time. */
struct allo_trace_sample {
	uint64_t count;
	uint64_t pid, tid;
	uint64_t time_ns;    /* by any clock */
	uint64_t cpu;        /* CPU number */
	allo_string_id name; /* of the program or thread; 0: unknown */
	bool has_pid, has_tid, has_time, has_cpu;
};

/* A thread. */
struct allo_traced_thread {
	uint64_t pid, tid; /* or a substitute for an unknown tid */
	allo_thread_id id;
	uint64_t counted; /* samples so far */
	/* The latest time, the latest time before this portion, and the number of this portion. */
	uint64_t latest, passed;
	uint64_t portion;
	/* Labels of its last sample, and their values. */
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
	uint64_t start, end; /* earliest and latest time so far */
};

/* Also adds the metrics to the profile and sets the period. */
bool allo_trace_init(struct allo_trace *trace, const struct allo_read_options *options,
		     struct allo_profile *profile, struct allo_error *err);
void allo_trace_done(struct allo_trace *trace);

/* Announces samples with times, the first at `first_ns`: samples without times follow them. */
void allo_trace_expect_times(struct allo_trace *trace, uint64_t first_ns);

/*
 * Adds a sample of these frames, the innermost first.  False, without a failure, if an
 * earlier portion has a later sample of its thread: then the reader reports the position with
 * allo_trace_fail_order().
 */
bool allo_trace_add(struct allo_trace *trace, const allo_frame_id *frames, size_t count,
		    const struct allo_trace_sample *sample, struct allo_error *err);

bool allo_trace_fail_order(struct allo_pos pos, struct allo_error *err);

/* Call after the last sample. */
void allo_trace_end(struct allo_trace *trace);

#endif
