/* trace_samples.c - assigns samples to threads, times and labels. */
#include "readers/traces/trace_samples.h"

#include <math.h>
#include <stdio.h>

bool allo_trace_init(struct allo_trace *trace, const struct allo_read_options *options,
		     struct allo_profile *profile, struct allo_error *err)
{
	double frequency = options->trace.frequency > 0 ? options->trace.frequency : 1000;

	*trace = (struct allo_trace){
		.options = options,
		.profile = profile,
		.period_ns = 1e9 / frequency,
		.start = UINT64_MAX,
	};
	/* Sums are found by their stack. */
	profile->is_portion &= options->wants_times;
	profile->meta.clock = ALLO_CLOCK_NS;
	profile->meta.default_metric =
		1; /* samples: exact, unlike the time computed from the period */
	profile->meta.period = llrint(trace->period_ns);
	profile->meta.period_type = allo_profile_add_string(profile, ALLO_TEXT("cpu"), err);
	profile->meta.period_unit = allo_profile_add_string(profile, ALLO_TEXT("nanoseconds"), err);
	return allo_profile_add_metric(profile, ALLO_SAMPLES, NULL, err) &&
	       allo_profile_add_metric(profile, ALLO_CPU, NULL, err);
}

void allo_trace_done(struct allo_trace *trace)
{
	allo_stack_builder_done(&trace->builder);
	allo_vec_done(&trace->threads);
	allo_map_done(&trace->map);
}

/* Times. */

void allo_trace_expect_times(struct allo_trace *trace, uint64_t first_ns)
{
	trace->has_times = true;
	trace->end = first_ns;
}

/* So many periods. */
static uint64_t periods(const struct allo_trace *trace, uint64_t count)
{
	double ns = (double)count * trace->period_ns;

	return ns < 0x1p63 ? (uint64_t)(ns + 0.5) : UINT64_MAX;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Threads. */

/* Whether neither thread nor process of a sample is known: then its CPU identifies it, or else its
 * name. */
static bool is_of_none(const struct allo_trace_sample *sample)
{
	return !sample->has_pid && !sample->has_tid;
}

static bool add_thread(struct allo_trace *trace, const struct allo_trace_sample *sample,
		       struct allo_traced_thread traced, uint64_t hash, struct allo_error *err)
{
	/* The first sample gives the name: a thread has one timeline, even if it runs several
	 * programs. */
	struct allo_thread thread = { traced.pid, traced.tid, sample->name, sample->name };
	char cpu[32];

	if (is_of_none(sample) && sample->has_cpu && thread.name == 0) {
		snprintf(cpu, sizeof(cpu), "cpu %llu", (unsigned long long)sample->cpu);
		thread.name = allo_profile_add_string(trace->profile, allo_text_of(cpu), err);
	} else if (is_of_none(sample) && !sample->has_cpu && sample->name) {
		thread.tid = trace->threads.len + 1;
	}
	traced.id = allo_profile_add_thread(trace->profile, &thread, err);
	if (traced.id == 0)
		return false;
	trace->last = trace->threads.len;
	return (allo_vec_append(&trace->threads, &traced, 1) &&
		allo_map_put(&trace->map, hash, (uint32_t)trace->threads.len)) ||
	       allo_fail_memory(err);
}

/* Makes trace->last the sample's thread. */
static bool find_thread(struct allo_trace *trace, const struct allo_trace_sample *sample,
			struct allo_error *err)
{
	struct allo_traced_thread new = { .pid = sample->pid, .tid = sample->tid };
	struct allo_probe probe;
	uint32_t number;
	uint64_t hash;

	if (is_of_none(sample))
		new.tid = sample->has_cpu ? sample->cpu : sample->name;
	hash = allo_hash_pair(new.pid, new.tid, allo_profile_seed(trace->profile));
	probe = allo_map_probe(&trace->map, hash);
	while ((number = allo_map_next(&trace->map, &probe)) != 0) {
		const struct allo_traced_thread *known = &trace->threads.at[number - 1];

		trace->last = number - 1;
		if (known->pid == new.pid && known->tid == new.tid)
			return true;
	}
	return add_thread(trace, sample, new, hash, err);
}

/* Labels. */

static bool add_number(struct allo_trace *trace, struct allo_label *labels, size_t *count,
		       const char *key, uint64_t number, struct allo_error *err)
{
	labels[*count] = (struct allo_label){
		.key = allo_profile_add_string(trace->profile, allo_text_of(key), err),
		.number = (int64_t)number,
		.is_number = true,
	};
	++*count;
	return !allo_failed(err);
}

static allo_labels_id add_labels(struct allo_trace *trace, const struct allo_trace_sample *sample,
				 struct allo_error *err)
{
	struct allo_label labels[4];
	size_t count = 0;

	if ((sample->has_pid && !add_number(trace, labels, &count, "pid", sample->pid, err)) ||
	    (sample->has_tid && !add_number(trace, labels, &count, "tid", sample->tid, err)) ||
	    (sample->has_cpu && !add_number(trace, labels, &count, "cpu", sample->cpu, err)))
		return 0;
	if (sample->name)
		labels[count++] = (struct allo_label){
			.key = allo_profile_add_string(trace->profile, ALLO_TEXT("execname"), err),
			.text = sample->name,
		};
	return count ? allo_profile_add_labels(trace->profile, labels, count, err) : 0;
}

/* Mostly the same as those of the thread's last sample. */
static allo_labels_id labels_of(struct allo_trace *trace, struct allo_traced_thread *thread,
				const struct allo_trace_sample *sample, struct allo_error *err)
{
	if (!trace->options->by_thread)
		return 0;
	if (thread->labels == 0 || thread->labels_name != sample->name ||
	    thread->labels_cpu != sample->cpu) {
		thread->labels = add_labels(trace, sample, err);
		thread->labels_name = sample->name;
		thread->labels_cpu = sample->cpu;
	}
	return thread->labels;
}

/* Samples. */

/* The time of a sample: its own, or after all earlier samples of its thread. */
static struct allo_when when_of(struct allo_trace *trace, struct allo_traced_thread *thread,
				const struct allo_trace_sample *sample)
{
	struct allo_when when = { .thread = thread->id };

	if (trace->has_times) {
		when.start_ns = sample->has_time ? sample->time_ns : trace->end;
		when.duration_ns = periods(trace, sample->count);
	} else {
		when.start_ns = periods(trace, thread->counted);
		thread->counted = add_saturating(thread->counted, sample->count);
		when.duration_ns = periods(trace, thread->counted) - when.start_ns;
	}
	return when;
}

/* Whether the sample is not earlier than its thread's drained samples. */
static bool is_in_order(struct allo_trace *trace, struct allo_traced_thread *thread,
			uint64_t start_ns)
{
	if (thread->portion != trace->portion) {
		thread->portion = trace->portion;
		thread->passed = thread->latest;
	}
	if (start_ns < thread->passed || (trace->portion > 0 && start_ns < trace->start))
		return false;
	if (start_ns > thread->latest)
		thread->latest = start_ns;
	return true;
}

static void take_span(struct allo_trace *trace, const struct allo_when *when)
{
	uint64_t end = add_saturating(when->start_ns, when->duration_ns);

	if (when->start_ns < trace->start)
		trace->start = when->start_ns;
	if (end > trace->end)
		trace->end = end;
}

/* Makes times relative to the first one. */
static void move_times(struct allo_trace *trace)
{
	for (size_t i = 0; i < trace->profile->sample_times.len; i++)
		trace->profile->sample_times.at[i].start_ns -= trace->start;
}

/* Sums stay until the end. */
static bool pass_portion(struct allo_trace *trace, struct allo_error *err)
{
	const struct allo_read_options *options = trace->options;

	if (!options->wants_times || !options->drain ||
	    allo_profile_sample_count(trace->profile) < ALLO_PORTION_SAMPLES)
		return true;
	move_times(trace);
	trace->portion++;
	return allo_reader_drain(options, trace->profile, &trace->builder, err);
}

bool allo_trace_add(struct allo_trace *trace, const allo_frame_id *frames, size_t count,
		    const struct allo_trace_sample *sample, struct allo_error *err)
{
	struct allo_profile *profile = trace->profile;
	allo_stack_id stack = allo_stack_build(&trace->builder, profile, frames, count, err);
	struct allo_traced_thread *thread;
	struct allo_when when;
	allo_labels_id labels;
	uint64_t *row;

	if (allo_failed(err) || !find_thread(trace, sample, err))
		return false;
	thread = &trace->threads.at[trace->last];
	labels = labels_of(trace, thread, sample, err);
	trace->has_times |= sample->has_time;
	when = when_of(trace, thread, sample);
	if (trace->options->wants_times && !is_in_order(trace, thread, when.start_ns))
		return false;
	take_span(trace, &when);
	row = trace->options->wants_times
		      ? allo_profile_add_timed_sample(profile, stack, labels, &when, err)
		      : allo_profile_add_sample(profile, stack, labels, NULL, err);
	if (!row)
		return false;
	allo_profile_add_value(profile, 0, &row[0], sample->count);
	allo_profile_add_value(profile, 1, &row[1], periods(trace, sample->count));
	return pass_portion(trace, err);
}

bool allo_trace_fail_order(struct allo_pos pos, struct allo_error *err)
{
	allo_fail(err, ALLO_ORDER, pos, "the sample is earlier than others before it");
	return allo_hint(err, "write the input to a file, or let dtrace sort it: -x aggsortkey "
			      "-x aggsortkeypos=0");
}

void allo_trace_end(struct allo_trace *trace)
{
	move_times(trace);
	if (trace->start < trace->end)
		trace->profile->meta.duration = trace->end - trace->start;
}
