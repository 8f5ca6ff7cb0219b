/* attach_x86.c - the steps of attaching and detaching, in their order. */
#include "attach/attach.h"

#include "attach/attach_obstacles.h"
#include "attach/entry_patches.h"
#include "attach/safe_thread.h"
#include "attach/tracee_calls.h"
#include "base/defer.h"
#include "watch/program_name.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	HIGHEST_PRIORITY = -20,
	LOADING_TRIES = 1000, /* ten seconds in all */
	LOADING_PAUSE_NS = 10000000,
};

/* The process, and what was found in it. */
struct tracee {
	pid_t pid;
	int priority; /* of this program, before */
	struct allo_tracee_memory memory;
	struct allo_tracee_modules modules;
	struct allo_tracee_threads threads;
};

#define NEW_TRACEE(id)                                                                             \
	{                                                                                          \
		.pid = (id), .priority = getpriority(PRIO_PROCESS, 0), .memory.mem = -1            \
	}

static void tracee_done(struct tracee *tracee)
{
	allo_tracee_threads_done(&tracee->threads);
	setpriority(PRIO_PROCESS, 0, tracee->priority);
	allo_tracee_modules_done(&tracee->modules);
	allo_tracee_memory_done(&tracee->memory);
}

static bool tracee_open(struct tracee *tracee, struct allo_error *err)
{
	if (!allo_attach_check_process(tracee->pid, err))
		return false;
	if (!allo_tracee_memory_open(&tracee->memory, tracee->pid, err))
		return allo_attach_explain(tracee->pid, err);
	return allo_tracee_modules_list(&tracee->modules, &tracee->memory, err) &&
	       allo_attach_check_modules(&tracee->modules, tracee->pid, err);
}

/* Starved of the processor, this program would keep the other one waiting. */
static bool seize(struct tracee *tracee, struct allo_error *err)
{
	signal(SIGCHLD, SIG_DFL); /* ignored ones would not tell of stops */
	setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY);
	return allo_tracee_threads_seize(&tracee->threads, tracee->pid, err) ||
	       allo_attach_explain(tracee->pid, err);
}

static const struct allo_tracee_module *loaded_runtime(const struct tracee *tracee)
{
	return allo_tracee_module_at(&tracee->modules, ALLO_ATTACH_PATH);
}

/* The name of a runtime that the program was started with or links; NULL if there is none. */
static const char *other_runtime(const struct tracee *tracee)
{
	for (size_t i = 0; i < tracee->modules.all.len; i++) {
		const char *slash = strrchr(tracee->modules.all.at[i].path, '/');

		if (slash && strncmp(slash, "/liballo.so", 11) == 0)
			return tracee->modules.all.at[i].path;
	}
	return NULL;
}

static bool check_is_new(const struct tracee *tracee, struct allo_error *err)
{
	const struct allo_tracee_module *runtime = loaded_runtime(tracee);
	struct allo_attach_plan plan;

	if (other_runtime(tracee)) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "process %d has the runtime already",
			  (int)tracee->pid);
		return allo_hint(err,
				 "'allo ps' shows its state; 'allo start %d' starts a recording",
				 (int)tracee->pid);
	}
	if (!runtime || !allo_entries_plan(&tracee->memory, runtime, &plan) || plan.count == 0)
		return true;
	switch (allo_entries_state(&tracee->memory, &plan)) {
	case ALLO_ENTRIES_NEW:
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "already attached to process %d",
			  (int)tracee->pid);
		return allo_hint(err,
				 "'allo start %d' starts a recording, 'allo detach %d' detaches",
				 (int)tracee->pid, (int)tracee->pid);
	case ALLO_ENTRIES_FOREIGN:
		return allo_fail(
			err, ALLO_IO, ALLO_NOWHERE,
			"another program has changed the allocation functions of process %d",
			(int)tracee->pid);
	default:
		return true;
	}
}

/* Loading. */

/* Copies the library into a descriptor of the process. */
static bool copy_library(pid_t pid, int fd, const char *library, struct allo_error *err)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	ALLO_DEFER(allo_close_fd) int from = open(library, O_RDONLY | O_CLOEXEC);
	if (from < 0 || fstat(from, &status) != 0)
		return allo_fail_errno(err, library, "read the library");
	ALLO_DEFER(allo_close_fd) int to = open(path, O_WRONLY | O_CLOEXEC);
	if (to < 0)
		return allo_fail_errno(err, path, "write the library");
	for (off_t left = status.st_size; left > 0;) {
		ssize_t sent = sendfile(to, from, NULL, (size_t)left);

		if (sent <= 0)
			return allo_fail_errno(err, library, "copy the library");
		left -= sent;
	}
	return true;
}

static bool make_file(struct allo_tracee_calls *calls, int *fd, struct allo_error *err)
{
	uint64_t arguments[ALLO_CALL_ARGUMENTS] = { allo_tracee_calls_text(calls, ALLO_ATTACH_FILE),
						    MFD_CLOEXEC };
	uint64_t result;

	if (!allo_tracee_call_libc(calls, "memfd_create", arguments, &result, err))
		return false;
	*fd = (int)result;
	return *fd >= 0 ||
	       allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d cannot make a file in memory",
			 calls->threads->pid);
}

/* Explains why dlopen() has failed, in the words of the dynamic linker. */
static bool fail_to_load(struct allo_tracee_calls *calls, struct allo_error *err)
{
	const uint64_t none[ALLO_CALL_ARGUMENTS] = { 0 };
	char why[160] = "";
	uint64_t text;

	if (!allo_tracee_call_libc(calls, "dlerror", none, &text, err))
		return false;
	if (text)
		allo_tracee_read_text(calls->memory, text, why, sizeof(why));
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d cannot load the runtime: %s",
			 (int)calls->threads->pid, why);
}

static bool open_library(struct allo_tracee_calls *calls, int fd, struct allo_error *err)
{
	char path[64];
	uint64_t handle;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const uint64_t arguments[ALLO_CALL_ARGUMENTS] = { allo_tracee_calls_text(calls, path),
							  RTLD_NOW };
	if (!allo_tracee_call_libc(calls, "dlopen", arguments, &handle, err))
		return false;
	return handle != 0 || fail_to_load(calls, err);
}

static bool load(struct tracee *tracee, struct allo_tracee_calls *calls, const char *library,
		 struct allo_error *err)
{
	struct allo_error ignored = { 0 };
	uint64_t result;
	bool is_loaded;
	int fd;

	if (!make_file(calls, &fd, err))
		return false;
	is_loaded = copy_library(tracee->pid, fd, library, err) && open_library(calls, fd, err);
	if (calls->has_begun)
		allo_tracee_call_libc(calls, "close",
				      (const uint64_t[ALLO_CALL_ARGUMENTS]){ (uint64_t)fd },
				      &result, &ignored);
	return is_loaded;
}

static bool fail_version(const struct tracee *tracee, struct allo_error *err)
{
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE,
			 "the runtime in process %d is of another version", (int)tracee->pid);
}

static bool list_modules(struct tracee *tracee, struct allo_error *err)
{
	return allo_tracee_memory_list(&tracee->memory, err) &&
	       allo_tracee_modules_list(&tracee->modules, &tracee->memory, err);
}

/* After `allo attach` was killed, a thread of the process may still be loading the runtime: waits
 * until it is ready.  No thread is attached to yet. */
static bool wait_for_loading(struct tracee *tracee, struct allo_error *err)
{
	const struct timespec pause = { .tv_nsec = LOADING_PAUSE_NS };
	struct allo_attach_plan plan;

	for (unsigned i = 0; i < LOADING_TRIES; i++) {
		const struct allo_tracee_module *runtime = loaded_runtime(tracee);

		if (!runtime || allo_entries_plan(&tracee->memory, runtime, &plan))
			return true;
		nanosleep(&pause, NULL);
		if (!list_modules(tracee, err))
			return false;
	}
	return fail_version(tracee, err);
}

/* Asks the runtime to prepare itself. */
static bool prepare(struct tracee *tracee, struct allo_tracee_calls *calls,
		    struct allo_attach_plan *plan, struct allo_error *err)
{
	uint64_t arguments[ALLO_CALL_ARGUMENTS] = { 0 }, function = 0, result;
	char name[ALLO_PROGRAM_NAME_SIZE];

	if (!list_modules(tracee, err))
		return false;
	if (loaded_runtime(tracee))
		function = allo_tracee_symbol(&tracee->memory, loaded_runtime(tracee),
					      "allo_attach_prepare", NULL);
	if (!function)
		return fail_version(tracee, err);
	allo_program_name_read(tracee->pid, name);
	arguments[0] = allo_tracee_calls_text(calls, name);
	if (!allo_tracee_call(calls, function, arguments, &result, err))
		return false;
	if (!allo_entries_plan(&tracee->memory, loaded_runtime(tracee), plan))
		return fail_version(tracee, err);
	plan->why[sizeof(plan->why) - 1] = '\0';
	return plan->count > 0 ||
	       allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d: %s", (int)tracee->pid, plan->why);
}

/* Loads and prepares the runtime in a thread of the process, which is stopped afterwards. */
static bool load_and_prepare(struct tracee *tracee, const char *library,
			     struct allo_attach_plan *plan, struct allo_error *err)
{
	const struct allo_tracee_module *libc = allo_tracee_module_named(&tracee->modules,
									 "libc.so.6");
	/* The list of modules is read again once the library is there. */
	struct allo_tracee_module libc_copy = *libc;
	struct allo_tracee_calls calls;
	size_t thread;
	bool ok;

	if (!allo_safe_thread_find(&tracee->threads, &tracee->memory, &tracee->modules, &thread,
				   err))
		return false;
	ok = allo_tracee_calls_begin(&calls, &tracee->threads, &tracee->memory, &libc_copy, thread,
				     err) &&
	     (loaded_runtime(tracee) || load(tracee, &calls, library, err)) &&
	     prepare(tracee, &calls, plan, err);
	allo_tracee_calls_end(&calls);
	return ok;
}

static bool write_entries(struct tracee *tracee, const struct allo_attach_plan *plan, bool is_new,
			  struct allo_attach_result *result, struct allo_error *err)
{
	struct allo_entries_result written = { 0 };
	bool ok = allo_entries_write(&tracee->threads, &tracee->memory, plan, is_new, &written,
				     err);

	result->stopped_ns = written.stopped_ns;
	result->threads = written.threads;
	return ok;
}

bool allo_attach(pid_t pid, const char *library, struct allo_attach_result *result,
		 struct allo_error *err)
{
	ALLO_DEFER(tracee_done) struct tracee tracee = NEW_TRACEE(pid);
	struct allo_attach_plan plan;

	return tracee_open(&tracee, err) && wait_for_loading(&tracee, err) &&
	       check_is_new(&tracee, err) && seize(&tracee, err) &&
	       load_and_prepare(&tracee, library, &plan, err) &&
	       write_entries(&tracee, &plan, true, result, err);
}

/* Detaching. */

static bool find_plan(const struct tracee *tracee, struct allo_attach_plan *plan)
{
	const struct allo_tracee_module *runtime = loaded_runtime(tracee);

	return runtime && allo_entries_plan(&tracee->memory, runtime, plan) && plan->count > 0;
}

bool allo_detach(pid_t pid, struct allo_attach_result *result, struct allo_error *err)
{
	ALLO_DEFER(tracee_done) struct tracee tracee = NEW_TRACEE(pid);
	enum allo_entries entries = ALLO_ENTRIES_OLD;
	struct allo_attach_plan plan;

	if (!tracee_open(&tracee, err))
		return false;
	if (find_plan(&tracee, &plan))
		entries = allo_entries_state(&tracee.memory, &plan);
	if (entries == ALLO_ENTRIES_OLD || entries == ALLO_ENTRIES_FOREIGN)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "allo is not attached to process %d", (int)pid);
	return seize(&tracee, err) && write_entries(&tracee, &plan, false, result, err);
}

bool allo_is_attached(pid_t pid)
{
	ALLO_DEFER(tracee_done) struct tracee tracee = NEW_TRACEE(pid);
	struct allo_error ignored = { 0 };
	struct allo_attach_plan plan;

	return allo_tracee_memory_open(&tracee.memory, pid, &ignored) &&
	       allo_tracee_modules_list(&tracee.modules, &tracee.memory, &ignored) &&
	       find_plan(&tracee, &plan) &&
	       allo_entries_state(&tracee.memory, &plan) != ALLO_ENTRIES_OLD;
}
