/*
 * jobs.h - a thread pool whose results come back in the order of the jobs.
 *
 *     allo_jobs_open(&jobs, parse_chunk, allo_cpu_count());
 *     allo_jobs_give(&jobs, chunk);                at most ALLO_JOBS_MAX pending at once
 *     chunk = allo_jobs_take(&jobs);               the oldest one, when it is done
 *
 * One thread gives and takes.  Threads start with the second pending job, so a small task never
 * pays for them.  If no thread can start, jobs run when they are taken.
 */
#ifndef ALLO_BASE_JOBS_H
#define ALLO_BASE_JOBS_H

#include "base/threads.h"

#include <stddef.h>

enum { ALLO_JOBS_MAX = 16, ALLO_JOBS_THREADS_MAX = 8 };

typedef void (*allo_job)(void *work);

enum allo_job_state { ALLO_JOB_WAITING, ALLO_JOB_RUNNING, ALLO_JOB_DONE };

/* All zeros: nothing to close. */
struct allo_jobs {
	/* May be set after opening: the workers run at lower priority than the calling thread,
	 * which does other work meanwhile. */
	bool steps_back;
	/* May be set after opening: a job runs when the one before it is done, because both use the
	 * same data. */
	bool is_serial;

	/* Private from here on. */
	allo_job run;
	struct allo_job_slot {
		void *work;
		enum allo_job_state state;
	} slots[ALLO_JOBS_MAX];
	/* Totals; job number N is in slot N % ALLO_JOBS_MAX.  taken <= started <= given, and
	 * finished <= started. */
	size_t given, started, finished, taken;
	unsigned threads_wanted, threads;
	struct allo_running_thread *thread[ALLO_JOBS_THREADS_MAX];
	struct allo_monitor *monitor; /* NULL: no thread can start */
	bool is_open, closing;
};

/* `threads` is the number of worker threads beside the calling one; may be 0. */
void allo_jobs_open(struct allo_jobs *jobs, allo_job run, unsigned threads);

static inline size_t allo_jobs_under_way(const struct allo_jobs *jobs)
{
	return jobs->given - jobs->taken;
}

/* Fewer than ALLO_JOBS_MAX jobs must be pending. */
void allo_jobs_give(struct allo_jobs *jobs, void *work);

/* Waits for the oldest job; NULL when none is pending. */
void *allo_jobs_take(struct allo_jobs *jobs);

/* Waits for the running jobs and drops the waiting ones.  Take every job first that you need or
 * own. */
void allo_jobs_close(struct allo_jobs *jobs);

#endif
