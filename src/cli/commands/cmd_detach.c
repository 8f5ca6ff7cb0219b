/* cmd_detach.c - allo detach: ends what 'allo attach' has begun. */
#include "base/defer.h"
#include "cli/process_request.h"
#include "cli/show/show_attach.h"

#include <stdio.h>
#include <stdlib.h>

struct detach {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_process_request_group, NULL };

static const struct allo_example examples[] = {
	{ "allo detach 4711", "stop the recording, and restore the functions of the process" },
	{ NULL, NULL },
};

/* Ends the recording and the control thread.  A process without a socket has neither. */
static bool end_runtime(struct allo_recorded_processes *list, pid_t pid, const char **file,
			struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *reply = malloc(sizeof(*reply));
	struct allo_recorded_process process;
	struct allo_error none = { 0 };
	struct allo_message request;
	char name[24], called[ALLO_RECORDED_PROCESS_NAME_SIZE];

	snprintf(name, sizeof(name), "%d", (int)pid);
	if (!reply)
		return allo_fail_memory(err);
	if (!allo_recorded_process_find(list, name, &process, &none))
		return true;
	if (process.file[0])
		*file = allo_recorded_process_file(list, &process);
	if (!process.socket[0])
		return allo_recorded_process_stop(&process, &none) || true;
	allo_message_begin(&request, "detach");
	allo_message_end(&request);
	return allo_control_request(process.socket, allo_recorded_process_name(&process, called),
				    &request, reply, err);
}

static bool run_detach(const void *options_given, char **names, struct allo_error *err)
{
	static const char *const with_file[] = { "allo leaks FILE", NULL };
	static const char *const nothing[] = { NULL };
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	const struct detach *opt = options_given;
	struct allo_printed_attach printed = { .done = "detached from" };

	if (!allo_attach_find_process(names[0], &printed.pid, err))
		return false;
	/* Before anything ends: a process of 'allo run' is refused. */
	if (allo_is_attached(printed.pid) && !end_runtime(&list, printed.pid, &printed.file, err))
		return false;
	if (!allo_detach(printed.pid, &printed.result, err))
		return false;
	printed.next = printed.file ? with_file : nothing;
	return allo_attach_print(&opt->common, &printed, err);
}

const struct allo_command allo_cmd_detach = {
	.name = "detach",
	.heading = "Watch",
	.summary = "stop recording an attached process, and restore its functions",
	.arguments = "PID",
	.about =
		"Ends the recording of a process that 'allo attach' has attached to, and writes the "
		"original bytes of its allocation functions back. The process goes on without a thread "
		"or a socket of the runtime; about a megabyte of its library stays in memory, unused. "
		"'allo attach' may attach again.\n\n"
		"PID is a process id, or %NAME for the only process with that name (a unique beginning "
		"is enough).",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct detach),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_detach,
};
