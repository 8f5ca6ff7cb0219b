/* jobs.c - a ring of job slots under one lock. */
#include "base/jobs.h"

#include "base/assert.h"

static struct allo_job_slot *slot_of(struct allo_jobs *jobs, size_t number)
{
	return &jobs->slots[number % ALLO_JOBS_MAX];
}

static bool can_run_next(const struct allo_jobs *jobs)
{
	return jobs->started < jobs->given && (!jobs->is_serial || jobs->finished == jobs->started);
}

/* Called with the lock held; releases it while the job runs. */
static void run_next(struct allo_jobs *jobs)
{
	struct allo_job_slot *slot = slot_of(jobs, jobs->started++);

	ALLO_ASSERT(slot->state == ALLO_JOB_WAITING);
	ALLO_ASSERT(jobs->taken < jobs->started && jobs->started <= jobs->given);
	slot->state = ALLO_JOB_RUNNING;
	allo_monitor_leave(jobs->monitor);
	jobs->run(slot->work);
	allo_monitor_enter(jobs->monitor);
	slot->state = ALLO_JOB_DONE;
	jobs->finished++;
	allo_monitor_wake_all(jobs->monitor);
}

static void *work_until_closed(void *argument)
{
	struct allo_jobs *jobs = argument;

	if (jobs->steps_back)
		allo_thread_step_back();
	allo_monitor_enter(jobs->monitor);
	while (!jobs->closing) {
		if (can_run_next(jobs))
			run_next(jobs);
		else
			allo_monitor_wait(jobs->monitor);
	}
	allo_monitor_leave(jobs->monitor);
	return NULL;
}

void allo_jobs_open(struct allo_jobs *jobs, allo_job run, unsigned threads)
{
	*jobs = (struct allo_jobs){ .run = run, .is_open = true };
	jobs->monitor = threads > 0 ? allo_monitor_new() : NULL;
	if (jobs->monitor)
		jobs->threads_wanted = threads < ALLO_JOBS_THREADS_MAX ? threads
								       : ALLO_JOBS_THREADS_MAX;
}

static void start_thread(struct allo_jobs *jobs)
{
	struct allo_running_thread *thread = allo_thread_start(work_until_closed, jobs);

	if (thread)
		jobs->thread[jobs->threads++] = thread;
	else
		jobs->threads_wanted = jobs->threads;
}

void allo_jobs_give(struct allo_jobs *jobs, void *work)
{
	ALLO_ASSERT(jobs->is_open && allo_jobs_under_way(jobs) < ALLO_JOBS_MAX);
	if (jobs->threads < jobs->threads_wanted && allo_jobs_under_way(jobs) > 0)
		start_thread(jobs);
	allo_monitor_enter(jobs->monitor);
	*slot_of(jobs, jobs->given++) = (struct allo_job_slot){ work, ALLO_JOB_WAITING };
	allo_monitor_wake_all(jobs->monitor);
	allo_monitor_leave(jobs->monitor);
}

void *allo_jobs_take(struct allo_jobs *jobs)
{
	struct allo_job_slot *oldest = slot_of(jobs, jobs->taken);

	if (allo_jobs_under_way(jobs) == 0)
		return NULL;
	allo_monitor_enter(jobs->monitor);
	/* The taker works instead of sleeping, even on a later job: the thread with the oldest job
	 * may be waiting for a core. */
	while (oldest->state != ALLO_JOB_DONE) {
		if (can_run_next(jobs))
			run_next(jobs);
		else
			allo_monitor_wait(jobs->monitor);
	}
	jobs->taken++;
	ALLO_ASSERT(jobs->taken <= jobs->started);
	allo_monitor_leave(jobs->monitor);
	return oldest->work;
}

void allo_jobs_close(struct allo_jobs *jobs)
{
	if (!jobs->is_open)
		return;
	allo_monitor_enter(jobs->monitor);
	jobs->closing = true;
	allo_monitor_wake_all(jobs->monitor);
	allo_monitor_leave(jobs->monitor);
	for (unsigned i = 0; i < jobs->threads; i++)
		allo_thread_join(jobs->thread[i]);
	allo_monitor_free(jobs->monitor);
	*jobs = (struct allo_jobs){ 0 };
}
