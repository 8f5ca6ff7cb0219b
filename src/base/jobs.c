/* jobs.c - a ring of job slots under one lock. */
#include "base/jobs.h"

#include "base/assert.h"

static struct allo_job_slot *slot_of(struct allo_jobs *jobs, size_t number)
{
	return &jobs->slots[number % ALLO_JOBS_MAX];
}

/* Called with the lock held; releases it while the job runs. */
static void run_next(struct allo_jobs *jobs)
{
	struct allo_job_slot *slot = slot_of(jobs, jobs->started++);

	ALLO_ASSERT(slot->state == ALLO_JOB_WAITING);
	ALLO_ASSERT(jobs->taken < jobs->started && jobs->started <= jobs->given);
	slot->state = ALLO_JOB_RUNNING;
	pthread_mutex_unlock(&jobs->lock);
	jobs->run(slot->work);
	pthread_mutex_lock(&jobs->lock);
	slot->state = ALLO_JOB_DONE;
	pthread_cond_broadcast(&jobs->changed);
}

static void *work_until_closed(void *argument)
{
	struct allo_jobs *jobs = argument;

	if (jobs->steps_back)
		allo_thread_step_back();
	pthread_mutex_lock(&jobs->lock);
	while (!jobs->closing) {
		if (jobs->started < jobs->given)
			run_next(jobs);
		else
			pthread_cond_wait(&jobs->changed, &jobs->lock);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

void allo_jobs_open(struct allo_jobs *jobs, allo_job run, unsigned threads)
{
	*jobs = (struct allo_jobs){ .run = run, .is_open = true };
	jobs->threads_wanted = threads < ALLO_JOBS_THREADS_MAX ? threads : ALLO_JOBS_THREADS_MAX;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->changed, NULL);
}

static void start_thread(struct allo_jobs *jobs)
{
	if (allo_thread_start(&jobs->thread[jobs->threads], work_until_closed, jobs))
		jobs->threads++;
	else
		jobs->threads_wanted = jobs->threads;
}

void allo_jobs_give(struct allo_jobs *jobs, void *work)
{
	ALLO_ASSERT(jobs->is_open && allo_jobs_under_way(jobs) < ALLO_JOBS_MAX);
	if (jobs->threads < jobs->threads_wanted && allo_jobs_under_way(jobs) > 0)
		start_thread(jobs);
	pthread_mutex_lock(&jobs->lock);
	*slot_of(jobs, jobs->given++) = (struct allo_job_slot){ work, ALLO_JOB_WAITING };
	pthread_cond_broadcast(&jobs->changed);
	pthread_mutex_unlock(&jobs->lock);
}

void *allo_jobs_take(struct allo_jobs *jobs)
{
	struct allo_job_slot *oldest = slot_of(jobs, jobs->taken);

	if (allo_jobs_under_way(jobs) == 0)
		return NULL;
	pthread_mutex_lock(&jobs->lock);
	/* The taker works instead of sleeping, even on a later job: the thread with the oldest job
	 * may be waiting for a core. */
	while (oldest->state != ALLO_JOB_DONE) {
		if (jobs->started < jobs->given)
			run_next(jobs);
		else
			pthread_cond_wait(&jobs->changed, &jobs->lock);
	}
	jobs->taken++;
	ALLO_ASSERT(jobs->taken <= jobs->started);
	pthread_mutex_unlock(&jobs->lock);
	return oldest->work;
}

void allo_jobs_close(struct allo_jobs *jobs)
{
	if (!jobs->is_open)
		return;
	pthread_mutex_lock(&jobs->lock);
	jobs->closing = true;
	pthread_cond_broadcast(&jobs->changed);
	pthread_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < jobs->threads; i++)
		pthread_join(jobs->thread[i], NULL);
	pthread_cond_destroy(&jobs->changed);
	pthread_mutex_destroy(&jobs->lock);
	*jobs = (struct allo_jobs){ 0 };
}
