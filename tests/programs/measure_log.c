/*
 * measure_log.c - how fast a change log is built and answers, and how large it is.
 *
 *     measure_log FILE
 *
 * Prints a line "name value" for each figure.  Times are those of the processor.
 */
#include "base/defer.h"
#include "view/log/change_log.h"
#include "view/log/change_log_segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WINDOWS = 40, PARTS = 5, STEPS = 1000 };

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The columns of all segments, without their sums. */
static uint64_t column_bytes(const struct allo_change_log *log)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < log->segments.len; i++)
		sum += log->segments.at[i].memory_bytes;
	return sum;
}

/* Times of windows of a length that start at different times. */
static bool measure_windows(const struct allo_change_log *log, const char *name, uint64_t length,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	double times[WINDOWS];

	for (uint64_t i = 0; i < WINDOWS; i++) {
		uint64_t from = (log->end_ns - length) / WINDOWS * i;
		struct allo_heap_options options = { .window = { from, from + length, NULL } };
		double start = now_ms();

		if (!allo_change_log_heap(log, &options, &heap, NULL, err))
			return false;
		times[i] = now_ms() - start;
	}
	qsort(times, WINDOWS, sizeof(*times), compare_doubles);
	printf("%s_median_ms %.3f\n%s_p95_ms %.3f\n", name, times[WINDOWS / 2], name,
	       times[WINDOWS * 95 / 100]);
	return true;
}

static bool measure(struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_change_log_done) struct allo_change_log log = { 0 };
	ALLO_DEFER(allo_timeline_done) struct allo_timeline timeline = { 0 };
	double start = now_ms(), built, line;

	if (!allo_change_log_build(&log, recording, NULL, err))
		return false;
	built = now_ms() - start;
	start = now_ms();
	if (!allo_change_log_timeline(&log, 0, 0, STEPS, &timeline, err))
		return false;
	line = now_ms() - start;
	printf("changes %llu\nbuild_ms %.1f\nlog_bytes %llu\nall_bytes %llu\ntimeline_ms %.3f\n",
	       (unsigned long long)log.change_count, built, (unsigned long long)column_bytes(&log),
	       (unsigned long long)allo_change_log_bytes(&log), line);
	return measure_windows(&log, "whole", log.end_ns, err) &&
	       measure_windows(&log, "fifth", log.end_ns / PARTS, err);
}

int main(int argc, char **argv)
{
	struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };
	bool ok = argc == 2 && allo_recording_open_file(&recording, argv[1], NULL, &err) &&
		  measure(&recording, &err);

	allo_recording_close(&recording);
	if (!ok)
		fprintf(stderr, "measure_log: %s\n", err.message);
	return !ok;
}
