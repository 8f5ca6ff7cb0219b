/* jobs.c - see jobs.h. */
#include "base/jobs.h"

static struct allo_job_slot *slot_of(struct allo_jobs *jobs, size_t number)
{
	return &jobs->slots[number % ALLO_JOBS_MAX];
}

/* Called with the lock held, which is let go of while the job runs. */
static void run_next(struct allo_jobs *jobs)
{
	struct allo_job_slot *slot = slot_of(jobs, jobs->started++);

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
	/* Rather than sleep, the taker works, were it on a later one: who works on the oldest may
	 * have to wait for a core. */
	while (oldest->state != ALLO_JOB_DONE) {
		if (jobs->started < jobs->given)
			run_next(jobs);
		else
			pthread_cond_wait(&jobs->changed, &jobs->lock);
	}
	jobs->taken++;
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
