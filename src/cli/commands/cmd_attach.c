/* cmd_attach.c - allo attach: records a process that already runs. */
#include "base/defer.h"
#include "cli/process_request.h"
#include "cli/show/show_attach.h"
#include "cli/start_options.h"
#include "run/name_pattern.h"
#include "run/preload.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	SOCKET_MS = 60000, /* for the process to listen, which takes 5 ms if it gets a processor */
	SOCKET_PAUSE_NS = 3000000,
};

struct attach {
	struct allo_start_options start;
	bool dormant;
};

#define AT(field) offsetof(struct attach, field)
static const struct allo_option options[] = {
	OPT_FLAG(0, "dormant", dormant, "record nothing until 'allo start'"),
	OPT_FLAG(0, "no-follow", start.no_follow,
		 "record only the process, not those that it forks"),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Attaching", options };

static const struct allo_option_group *const groups[] = { &group, &allo_start_group,
							  &allo_process_request_group, NULL };

static const struct allo_example examples[] = {
	{ "allo attach 4711", "record the process from now on" },
	{ "allo attach %redis-server -m sampled -o /tmp/%e.%p.allo",
	  "sample it, and write the recording to a directory where it may write" },
	{ "allo detach 4711", "stop, and restore the functions of the process" },
	{ NULL, NULL },
};

/* Waits until the runtime in the process answers. */
static bool wait_for_socket(struct allo_recorded_processes *list, pid_t pid,
			    struct allo_recorded_process *process, struct allo_error *err)
{
	const struct timespec pause = { .tv_nsec = SOCKET_PAUSE_NS };
	int64_t until_ms = allo_control_now_ms() + SOCKET_MS;
	char name[24];

	snprintf(name, sizeof(name), "%d", (int)pid);
	while (allo_control_now_ms() < until_ms) {
		struct allo_error none = { 0 };

		allo_recorded_processes_done(list);
		*list = (struct allo_recorded_processes){ 0 };
		if (allo_recorded_process_find(list, name, process, &none) && process->socket[0] &&
		    !process->is_silent)
			return true;
		nanosleep(&pause, NULL);
	}
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "attached to process %d, but it does not answer",
		  (int)pid);
	return allo_hint(err, "'allo detach %d' detaches", (int)pid);
}

/* Whether a file of a process, such as "root", is ours. */
static bool is_shared(pid_t pid, const char *name)
{
	char path[64], own_path[64];
	struct stat its, own;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	snprintf(own_path, sizeof(own_path), "/proc/self/%s", name);
	return stat(path, &its) == 0 && stat(own_path, &own) == 0 && its.st_dev == own.st_dev &&
	       its.st_ino == own.st_ino;
}

static bool request_start(const struct attach *opt, const struct allo_recorded_process *process,
			  const char *pattern, struct allo_control_reply *reply,
			  struct allo_error *err)
{
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];
	struct allo_message request;

	*err = (struct allo_error){ 0 };
	allo_start_options_request(&opt->start, pattern, &request);
	return allo_control_request(process->socket, allo_recorded_process_name(process, name),
				    &request, reply, err);
}

/* The process writes the recording: to our directory, as 'allo run' does, if it may write there;
 * else to its own, or to /tmp. */
static bool start_somewhere(const struct attach *opt, const struct allo_recorded_process *process,
			    struct allo_control_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	char *here = is_shared(process->pid, "ns/mnt") && is_shared(process->pid, "root")
			     ? allo_name_pattern_prepare(ALLO_NAME_PATTERN, err)
			     : NULL;

	return (here && request_start(opt, process, here, reply, err)) ||
	       request_start(opt, process, NULL, reply, err) ||
	       request_start(opt, process, "/tmp/%e.%p.%n.allo", reply, err);
}

static bool start(const struct attach *opt, const struct allo_recorded_process *process,
		  struct allo_control_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *pattern = NULL;

	if (!opt->start.output)
		return start_somewhere(opt, process, reply, err);
	pattern = allo_name_pattern_prepare(opt->start.output, err);
	return pattern && request_start(opt, process, pattern, reply, err);
}

/* Starts the recording; stores its path, as we see it. */
static bool start_recording(const struct attach *opt, struct allo_recorded_processes *list,
			    struct allo_recorded_process *process, const char **file,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *reply = malloc(sizeof(*reply));
	const char *text;

	if (!reply)
		return allo_fail_memory(err);
	if (!start(opt, process, reply, err))
		return allo_hint(err,
				 "attached; 'allo start %d -o PATTERN' starts a recording in a "
				 "directory where the process may write",
				 (int)process->pid);
	text = allo_control_reply_text(reply, "file");
	*file = NULL;
	if (!text)
		return true;
	process->file = allo_arena_copy(&list->arena, text, strlen(text));
	*file = process->file ? allo_recorded_process_file(list, process) : NULL;
	return *file || allo_fail_memory(err);
}

static bool run_attach(const void *options_given, char **names, struct allo_error *err)
{
	static const char *const next[] = { "allo live PID", "allo leaks FILE", "allo stop PID",
					    "allo detach PID", NULL };
	static const char *const counting[] = { "allo stats PID", "allo detach PID", NULL };
	static const char *const dormant[] = { "allo start PID", "allo detach PID", NULL };
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	ALLO_DEFER(allo_free_pointer) char *library = NULL;
	const struct attach *opt = options_given;
	struct allo_printed_attach printed = { .done = "attached to", .next = dormant };
	struct allo_recorded_process process;

	if (!allo_start_options_check(&opt->start, err) ||
	    !allo_attach_find_process(names[0], &printed.pid, err))
		return false;
	library = allo_preload_library(ALLO_LIBC_GLIBC, err);
	if (!library || !allo_attach(printed.pid, library, &printed.result, err) ||
	    !wait_for_socket(&list, printed.pid, &process, err))
		return false;
	if (!opt->dormant) {
		if (!start_recording(opt, &list, &process, &printed.file, err))
			return false;
		printed.next = printed.file ? next : counting;
	}
	return allo_attach_print(&opt->start.common, &printed, err);
}

const struct allo_command allo_cmd_attach = {
	.name = "attach",
	.heading = "Watch",
	.summary = "record a process that already runs",
	.arguments = "PID",
	.about =
		"Loads the runtime into a process that was started without it, and starts a recording. "
		"The process stands still for less than a millisecond meanwhile, or until all its "
		"threads are scheduled once, for at most 0.25 s. Blocks from before are not in the recording, and freeing "
		"them is not counted. Programs that the process executes are not recorded; processes "
		"that it forks are, in the directory FILE.d, unless --no-follow is given.\n\n"
		"It works for programs of the same user, or for root, on x86-64 with glibc; also in "
		"containers. It refuses static programs, other C libraries, programs with a seccomp "
		"filter or a shadow stack, and those that a debugger holds. 'allo detach' "
		"restores the functions of the process.\n\n"
		"The recording is written by the process, with its rights: to the current directory, "
		"if it may write there, else to its own directory or /tmp. -o chooses another place.\n\n"
		"PID is a process id, or %NAME for the only process with that name (a unique beginning "
		"is enough).",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct attach),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_attach,
};
