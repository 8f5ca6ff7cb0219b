/* worker.c - forks the child, and passes its status and error back through shared memory. */
#include "serve/worker.h"

#include "base/assert.h"
#include "base/defer.h"
#include "telemetry/monotonic_clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shared with the child; all zeros until the child is done. */
struct allo_worker_report {
	unsigned status;
	struct allo_error err; /* without a position: that points into the child's memory */
};

static void report_done(struct allo_worker_report **report)
{
	if (*report)
		munmap(*report, sizeof(**report));
	*report = NULL;
}

static void close_between(int first, int last)
{
	if (first <= last)
		close_range((unsigned)first, (unsigned)last, 0);
}

/* A connection that a child inherits would stay open after the server has closed it. */
static void close_others(int one, int other)
{
	int low = one < other ? one : other, high = one < other ? other : one;

	if (low < 0)
		low = high;
	ALLO_ASSERT(low > STDERR_FILENO);
	close_between(STDERR_FILENO + 1, low - 1);
	close_between(low + 1, high - 1);
	close_range((unsigned)high + 1, ~0U, 0);
}

void allo_worker_become_child(pid_t parent, int one, int other)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The recorded program comes first. */
	setpriority(PRIO_PROCESS, 0, 10);
	close_others(one, other);
}

_Noreturn static void work_in_child(struct allo_worker *worker, allo_worker_function function,
				    const void *task)
{
	struct allo_error err = { 0 };
	unsigned status = function(task, worker->out, &err);

	ALLO_ASSERT(status != 0);
	err.pos = ALLO_NOWHERE;
	worker->report->err = err;
	worker->report->status = status;
	_exit(0);
}

bool allo_worker_start(struct allo_worker *worker, allo_worker_function function, const void *task,
		       int kept, uint64_t limit_ns, struct allo_error *err)
{
	ALLO_DEFER(report_done) struct allo_worker_report *report = NULL;
	ALLO_DEFER(allo_close_fd) int out = memfd_create("allo", MFD_CLOEXEC);
	pid_t parent = getpid(), pid;
	void *shared = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ALLO_ASSERT(worker->pid == 0);
	report = shared == MAP_FAILED ? NULL : shared;
	if (out < 0 || !report)
		return allo_fail_errno(err, NULL, "create a file for the reply");
	*worker = (struct allo_worker){ .deadline_ns = allo_clock_ns() + limit_ns,
					.out = out,
					.report = report };
	pid = fork();
	if (pid == 0) {
		allo_worker_become_child(parent, out, kept);
		work_in_child(worker, function, task);
	}
	if (pid < 0)
		return allo_fail_errno(err, NULL, "start a worker process");
	worker->pid = pid;
	worker->pidfd = pidfd_open(pid, 0);
	if (worker->pidfd < 0) {
		allo_fail_errno(err, NULL, "watch the worker process");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		worker->pid = 0;
		return false;
	}
	out = -1;
	report = NULL;
	return true;
}

/* Reaps a child that has ended or was killed. */
static void collect(struct allo_worker *worker)
{
	while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
		;
	allo_close_fd(&worker->pidfd);
	worker->pid = 0;
}

unsigned allo_worker_end(struct allo_worker *worker, int *out, struct allo_error *err)
{
	bool is_late = allo_clock_ns() >= worker->deadline_ns;
	unsigned status;

	ALLO_ASSERT(worker->pid != 0);
	if (is_late)
		kill(worker->pid, SIGKILL);
	collect(worker);
	status = worker->report->status;
	*out = -1;
	if (status == ALLO_DONE) {
		*out = worker->out;
		worker->out = -1;
	} else if (status != 0) {
		*err = worker->report->err;
	} else {
		status = is_late ? ALLO_TOO_LATE : ALLO_BROKEN;
		allo_fail(err, ALLO_IO, ALLO_NOWHERE,
			  is_late ? "the request took too long"
				  : "the worker process ended unexpectedly");
	}
	allo_close_fd(&worker->out);
	report_done(&worker->report);
	return status;
}

void allo_worker_drop(struct allo_worker *worker)
{
	if (worker->pid == 0)
		return;
	kill(worker->pid, SIGKILL);
	collect(worker);
	allo_close_fd(&worker->out);
	report_done(&worker->report);
}
