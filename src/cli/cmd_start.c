/* cmd_start.c - allo start: starts recording a running process. */
#include "base/defer.h"
#include "cli/process_request.h"
#include "run/name_pattern.h"

#include <stdio.h>
#include <stdlib.h>

struct start {
	struct allo_common common;
	const char *output;
	int mode;
	bool stats;
	uint64_t rate, stack_depth, min_size, max_file, duration_ns;
};

/* "same" sends no mode: the process keeps the one that it was started with. */
static const char *const modes[] = { "same", "exact", "sampled", "events", "counters", NULL };

#define AT(field) offsetof(struct start, field)
static const struct allo_option options[] = {
	OPT_FILE(
		'o', "output", "PATTERN", output,
		"path of the recording, as for 'allo run' (default: the pattern given to 'allo run', "
		"or %e.%p.%n.allo in the directory of the process)"),
	OPT_CHOICE(
		'm', "mode", "MODE", mode, modes,
		"same (as given to 'allo run'), exact, sampled, events or counters (default: same)"),
	OPT_SIZE(0, "rate", "N", rate,
		 "sampling interval: one allocation per N bytes, or one in N allocations"),
	OPT_SIZE(0, "min-size", "SIZE", min_size, "ignore smaller blocks"),
	OPT_COUNT(0, "stack-depth", "N", stack_depth, "keep the N innermost frames of a stack"),
	OPT_TIME(0, "duration", "TIME", duration_ns,
		 "stop recording after this time; the process continues"),
	OPT_SIZE(0, "max-file", "SIZE", max_file,
		 "stop recording when the file has this size; the process continues"),
	OPT_FLAG(0, "stats", stats,
		 "also keep statistics in the process, so that 'allo stats' need not read the "
		 "recording"),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Recording", options };

static const struct allo_option_group *const groups[] = { &group, &allo_process_request_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo start 4711", "record the process from now on" },
	{ "allo start %redis-server -m sampled --duration 1m", "sample it for a minute" },
	{ "allo start 4711 -m counters", "keep counts for 'allo stats', without a recording" },
	{ NULL, NULL },
};

static void add_number(struct allo_message *request, const char *key, uint64_t number)
{
	char digits[24];

	if (number == 0)
		return;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	allo_message_add(request, key, digits);
}

static bool run_start(const void *options_given, char **names, struct allo_error *err)
{
	const struct start *opt = options_given;
	ALLO_DEFER(allo_free_pointer) char *pattern = NULL;
	struct allo_message request;

	allo_message_begin(&request, "start");
	if (opt->output) {
		pattern = allo_name_pattern_prepare(opt->output, err);
		if (!pattern)
			return false;
		allo_message_add(&request, "path", pattern);
	}
	if (opt->mode > 0)
		allo_message_add(&request, "mode", modes[opt->mode]);
	add_number(&request, "rate", opt->rate);
	add_number(&request, "min_size", opt->min_size);
	add_number(&request, "stack_depth", opt->stack_depth);
	add_number(&request, "duration_ns", opt->duration_ns);
	add_number(&request, "max_file", opt->max_file);
	add_number(&request, "stats", opt->stats);
	allo_message_end(&request);
	return allo_process_request_send(&(struct allo_process_request){ .common = &opt->common,
									 .name = names[0],
									 .message = &request,
									 .done = "recording",
									 .before_file = " to",
									 .state = "dormant" },
					 err);
}

const struct allo_command allo_cmd_start = {
	.name = "start",
	.heading = "Watch",
	.summary = "start recording a running process",
	.arguments = "PID",
	.about =
		"Starts a recording in a process that has a control socket: one started by 'allo run "
		"--dormant', one started by 'allo run --control' whose recording was stopped, or a "
		"program that is linked with the runtime and was started with ALLO_CONTROL=1. The "
		"process may be idle. Blocks from before the start are not in the recording, and "
		"freeing them is not counted.\n\n"
		"PID is a process id, the path of its socket, %NAME for all processes that have that "
		"name, or the only name that begins so, or all for all dormant processes: see 'allo ps'.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct start),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_start,
};
