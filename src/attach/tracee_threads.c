/* tracee_threads.c - PTRACE_SEIZE, and a table of what each thread does. */
#include "attach/tracee_threads.h"

#include "attach/call_state.h"
#include "base/assert.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CALL_STOP = SIGTRAP | 0x80, /* PTRACE_O_TRACESYSGOOD */
	LET_GO_MS = 250, /* for a thread to stop: the end of this program lets it go, too */
};

#define OPTIONS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

/* The index of a thread, which is added if it is new.  SIZE_MAX when memory is short. */
static size_t index_of(struct allo_tracee_threads *threads, pid_t id)
{
	struct allo_tracee_thread *added;

	for (size_t i = 0; i < threads->all.len; i++) {
		if (threads->all.at[i].id == id && !threads->all.at[i].is_gone)
			return i;
	}
	added = allo_vec_push(&threads->all);
	if (!added)
		return SIZE_MAX;
	*added = (struct allo_tracee_thread){ .id = id };
	return threads->all.len - 1;
}

static bool is_known(const struct allo_tracee_threads *threads, pid_t id)
{
	for (size_t i = 0; i < threads->all.len; i++) {
		if (threads->all.at[i].id == id && !threads->all.at[i].is_gone)
			return true;
	}
	return false;
}

/* Whether a thread cannot be attached to and never runs code of the process: it has ended, or it is
 * a worker of io_uring. */
static bool is_without_code(pid_t pid, pid_t id)
{
	char path[80], line[256] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)id);
	file = fopen(path, "re");
	if (!file)
		return true;
	(void)!fgets(line, sizeof(line), file);
	fclose(file);
	end = strrchr(line, ')');
	return strstr(line, " (iou-") || (end && (end[2] == 'Z' || end[2] == 'X'));
}

enum seized { SEIZED, PASSED_OVER, REFUSED };

static enum seized seize(struct allo_tracee_threads *threads, pid_t id, struct allo_error *err)
{
	if (ptrace(PTRACE_SEIZE, id, 0, OPTIONS) == 0) {
		if (index_of(threads, id) != SIZE_MAX)
			return SEIZED;
		ptrace(PTRACE_DETACH, id, 0, 0);
		allo_fail_memory(err);
		return REFUSED;
	}
	/* A thread that another one has made since then is attached to already. */
	if (errno == ESRCH || is_without_code(threads->pid, id) || threads->all.len > 0)
		return PASSED_OVER;
	allo_fail_errno(err, NULL, "attach to the process");
	return REFUSED;
}

/* Attaches to the threads that are not known yet. */
static enum seized seize_new(struct allo_tracee_threads *threads, struct allo_error *err)
{
	enum seized result = PASSED_OVER, one;
	struct dirent *entry;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)threads->pid);
	folder = opendir(path);
	while (folder && result != REFUSED && (entry = readdir(folder)) != NULL) {
		uint64_t id;

		if (!allo_text_u64(allo_text_of(entry->d_name), &id) ||
		    is_known(threads, (pid_t)id))
			continue;
		one = seize(threads, (pid_t)id, err);
		if (one != PASSED_OVER)
			result = one;
	}
	if (folder)
		closedir(folder);
	return result;
}

bool allo_tracee_threads_seize(struct allo_tracee_threads *threads, pid_t pid,
			       struct allo_error *err)
{
	enum seized result;

	threads->pid = pid;
	do {
		result = seize_new(threads, err);
	} while (result == SEIZED);
	if (result == REFUSED)
		return false;
	return threads->all.len > 0 ||
	       allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d has ended", (int)pid);
}

/* Only a stopped thread can be let go. */
static void let_go(struct allo_tracee_threads *threads, size_t index)
{
	const struct allo_tracee_thread *thread = &threads->all.at[index];

	ALLO_ASSERT(!thread->is_gone);
	if (!thread->is_stopped && !allo_tracee_interrupt(threads, index, LET_GO_MS))
		return;
	ptrace(PTRACE_DETACH, threads->all.at[index].id, 0, (long)threads->all.at[index].signal);
}

void allo_tracee_threads_done(struct allo_tracee_threads *threads)
{
	/* Stopped ones first: none waits for another. */
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < threads->all.len; i++) {
			if (threads->all.at[i].is_gone ||
			    (pass == 0 && !threads->all.at[i].is_stopped))
				continue;
			let_go(threads, i);
			threads->all.at[i].is_gone = true;
		}
	}
	allo_vec_done(&threads->all);
}

bool allo_tracee_is_alive(const struct allo_tracee_threads *threads, struct allo_error *err)
{
	if (threads->has_executed)
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE,
				 "process %d has executed another program meanwhile",
				 (int)threads->pid);
	for (size_t i = 0; i < threads->all.len; i++) {
		if (!threads->all.at[i].is_gone)
			return true;
	}
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d has ended", (int)threads->pid);
}

/* Waits for a change of any thread.  0: none within the time. */
static pid_t wait_for_any(int *status, int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	sigset_t child, before;
	pid_t id;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	do {
		id = waitpid(-1, status, __WALL | WNOHANG);
	} while (id == 0 && sigtimedwait(&child, NULL, &timeout) == SIGCHLD);
	if (id == 0)
		id = waitpid(-1, status, __WALL | WNOHANG);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return id > 0 ? id : 0;
}

/* Notes the thread that a stopped one has made: the kernel has attached us to it.  It may have come
 * and gone already. */
static void take_new_thread(struct allo_tracee_threads *threads, pid_t maker)
{
	unsigned long id;

	if (ptrace(PTRACE_GETEVENTMSG, maker, 0, &id) != 0)
		return;
	for (size_t i = 0; i < threads->all.len; i++) {
		if (threads->all.at[i].id == (pid_t)id)
			return;
	}
	index_of(threads, (pid_t)id);
}

/* What a status of waitpid means for a thread. */
static enum allo_tracee_stop take(struct allo_tracee_threads *threads, size_t index, int status)
{
	struct allo_tracee_thread *thread = &threads->all.at[index];
	int event = status >> 16, signal = WSTOPSIG(status);

	ALLO_ASSERT(index < threads->all.len && !thread->is_gone);
	if (!WIFSTOPPED(status)) {
		thread->is_gone = true;
		thread->is_stopped = false;
		return ALLO_TRACEE_OTHER;
	}
	thread->is_stopped = true;
	if (event == PTRACE_EVENT_STOP) {
		allo_call_hide_interrupt(thread->id);
		return ALLO_TRACEE_INTERRUPT;
	}
	threads->has_executed |= event == PTRACE_EVENT_EXEC;
	if (signal == CALL_STOP)
		return ALLO_TRACEE_CALL;
	if (event == 0 && signal != SIGTRAP) {
		thread->signal = signal;
		return ALLO_TRACEE_SIGNAL;
	}
	if (event == PTRACE_EVENT_CLONE)
		take_new_thread(threads, thread->id);
	return ALLO_TRACEE_OTHER;
}

enum allo_tracee_stop allo_tracee_wait(struct allo_tracee_threads *threads, int timeout_ms,
				       size_t *index)
{
	int status = 0;
	pid_t id = wait_for_any(&status, timeout_ms);

	if (id == 0)
		return ALLO_TRACEE_NO_STOP;
	*index = index_of(threads, id);
	if (*index != SIZE_MAX)
		return take(threads, *index, status);
	/* Without memory for it, the thread is let go at once. */
	ptrace(PTRACE_DETACH, id, 0, 0);
	*index = 0;
	return ALLO_TRACEE_OTHER;
}

static void go_on(struct allo_tracee_threads *threads, size_t index, enum __ptrace_request request)
{
	struct allo_tracee_thread *thread = &threads->all.at[index];

	if (thread->is_gone || !thread->is_stopped)
		return;
	thread->is_stopped = false;
	ptrace(request, thread->id, 0, (long)thread->signal);
	thread->signal = 0;
}

void allo_tracee_continue(struct allo_tracee_threads *threads, size_t index)
{
	go_on(threads, index, PTRACE_CONT);
}

void allo_tracee_continue_to_call(struct allo_tracee_threads *threads, size_t index)
{
	go_on(threads, index, PTRACE_SYSCALL);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for the next stop of any thread until a time. */
static enum allo_tracee_stop wait_until(struct allo_tracee_threads *threads, int64_t until_ms,
					size_t *index)
{
	int64_t left_ms = until_ms - now_ms();

	return allo_tracee_wait(threads, left_ms > 0 ? (int)left_ms : 0, index);
}

void allo_tracee_run_all(struct allo_tracee_threads *threads, int for_ms)
{
	int64_t until_ms = now_ms() + for_ms;
	size_t index;

	for (size_t i = 0; i < threads->all.len; i++)
		allo_tracee_continue(threads, i);
	while (wait_until(threads, until_ms, &index) != ALLO_TRACEE_NO_STOP)
		allo_tracee_continue(threads, index);
}

bool allo_tracee_interrupt(struct allo_tracee_threads *threads, size_t index, int timeout_ms)
{
	int64_t until_ms = now_ms() + timeout_ms;
	size_t found;

	if (threads->all.at[index].is_gone ||
	    ptrace(PTRACE_INTERRUPT, threads->all.at[index].id, 0, 0) != 0)
		return false;
	/* A thread that stands still already meets the interrupt before anything else. */
	allo_tracee_continue(threads, index);
	for (;;) {
		enum allo_tracee_stop stop = wait_until(threads, until_ms, &found);

		if (stop == ALLO_TRACEE_NO_STOP || threads->all.at[index].is_gone)
			return false;
		if (found == index && stop == ALLO_TRACEE_INTERRUPT)
			return true;
		allo_tracee_continue(threads, found);
		/* Any stop of the thread, such as that for a signal, has ended the interrupt. */
		if (found == index &&
		    ptrace(PTRACE_INTERRUPT, threads->all.at[index].id, 0, 0) != 0)
			return false;
	}
}

/* Interrupts all running threads.  Returns their number. */
static size_t interrupt_running(struct allo_tracee_threads *threads)
{
	size_t count = 0;

	for (size_t i = 0; i < threads->all.len; i++) {
		struct allo_tracee_thread *thread = &threads->all.at[i];

		if (!thread->is_gone && !thread->is_stopped &&
		    ptrace(PTRACE_INTERRUPT, thread->id, 0, 0) == 0)
			count++;
	}
	return count;
}

/* A thread that still runs; 0 if there is none. */
static pid_t first_running(const struct allo_tracee_threads *threads)
{
	for (size_t i = 0; i < threads->all.len; i++) {
		if (!threads->all.at[i].is_gone && !threads->all.at[i].is_stopped)
			return threads->all.at[i].id;
	}
	return 0;
}

pid_t allo_tracee_stop_all(struct allo_tracee_threads *threads, int timeout_ms,
			   struct allo_error *err)
{
	int64_t until_ms = now_ms() + timeout_ms;
	size_t index;

	interrupt_running(threads);
	do {
		while (first_running(threads)) {
			if (wait_until(threads, until_ms, &index) == ALLO_TRACEE_NO_STOP)
				return first_running(threads);
		}
	} while (seize_new(threads, err) == SEIZED && interrupt_running(threads) > 0);
	return 0;
}

bool allo_tracee_step(struct allo_tracee_threads *threads, size_t index)
{
	struct allo_tracee_thread *thread = &threads->all.at[index];
	int status;

	if (ptrace(PTRACE_SINGLESTEP, thread->id, 0, 0) != 0 ||
	    waitpid(thread->id, &status, __WALL) != thread->id)
		return false;
	take(threads, index, status);
	return !thread->is_gone;
}
