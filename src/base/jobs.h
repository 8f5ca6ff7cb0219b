/*
 * jobs.h - independent pieces of work, done on other cores and taken back in the order given.
 *
 *     allo_jobs_open(&jobs, parse_block, allo_cpu_count());
 *     allo_jobs_give(&jobs, block);                at most ALLO_JOBS_MAX under way at once
 *     block = allo_jobs_take(&jobs);               the oldest one, when it is done
 *
 * One thread gives and takes.  Threads start with the second job under way, so small work never
 * pays for them; where none can be had, jobs simply run when they are taken.
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
	/* May be set after opening: where cores are few, the other threads come behind the calling
	 * one, which has more to do than to wait for them. */
	bool steps_back;

	/* Private from here on. */
	allo_job run;
	struct allo_job_slot {
		void *work;
		enum allo_job_state state;
	} slots[ALLO_JOBS_MAX];
	size_t given, started, taken; /* ever; a job's slot is its number modulo ALLO_JOBS_MAX */
	unsigned threads_wanted, threads;
	pthread_t thread[ALLO_JOBS_THREADS_MAX];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_open, closing;
};

/* `threads` other threads help the calling one; 0 is fine. */
void allo_jobs_open(struct allo_jobs *jobs, allo_job run, unsigned threads);

static inline size_t allo_jobs_under_way(const struct allo_jobs *jobs)
{
	return jobs->given - jobs->taken;
}

/* There must be room: fewer than ALLO_JOBS_MAX under way. */
void allo_jobs_give(struct allo_jobs *jobs, void *work);

/* Waits for the oldest job; NULL when none is under way. */
void *allo_jobs_take(struct allo_jobs *jobs);

/* Waits for the running jobs and forgets the others: take first what is still wanted or owned. */
void allo_jobs_close(struct allo_jobs *jobs);

#endif
