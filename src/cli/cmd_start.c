/* cmd_start.c - allo start: begins to record a process that runs. */
#include "cli/tell_process.h"
#include "run/name_pattern.h"

#include "base/defer.h"

#include <stdio.h>
#include <stdlib.h>

struct start {
	struct allo_common common;
	const char *output;
	int mode;
	bool stats;
	uint64_t rate, stack_depth, min_size, max_file, duration_ns;
};

/* The first one stands for nothing: as the process was told when it began. */
static const char *const modes[] = { "same", "exact", "sampled", "events", "counters", NULL };

static const struct allo_option options[] = {
	{ .letter = 'o',
	  .name = "output",
	  .argument = "PATTERN",
	  .help = "where the recording goes, as for 'allo run'. Without it: where 'allo run' was "
		  "told, or %e.%p.%n.allo in the directory of the process",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct start, output) },
	{ .letter = 'm',
	  .name = "mode",
	  .argument = "MODE",
	  .help = "same (as 'allo run' was told), exact, sampled, events or counters",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct start, mode),
	  .choices = modes },
	{ .name = "rate",
	  .argument = "N",
	  .help = "one allocation for every so many bytes, or one in so many",
	  .kind = ALLO_OPTION_SIZE,
	  .offset = offsetof(struct start, rate) },
	{ .name = "min-size",
	  .argument = "SIZE",
	  .help = "leave smaller blocks out",
	  .kind = ALLO_OPTION_SIZE,
	  .offset = offsetof(struct start, min_size) },
	{ .name = "stack-depth",
	  .argument = "N",
	  .help = "keep at most so many frames of a stack, the innermost ones",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct start, stack_depth) },
	{ .name = "duration",
	  .argument = "TIME",
	  .help = "end so long after the beginning; the process goes on",
	  .kind = ALLO_OPTION_TIME,
	  .offset = offsetof(struct start, duration_ns) },
	{ .name = "max-file",
	  .argument = "SIZE",
	  .help = "end when the file has grown to this; the process goes on",
	  .kind = ALLO_OPTION_SIZE,
	  .offset = offsetof(struct start, max_file) },
	{ .name = "stats",
	  .help = "have the process keep statistics beside the recording, so that 'allo stats' "
		  "need not read it",
	  .offset = offsetof(struct start, stats) },
	{ .name = NULL },
};
static const struct allo_option_group group = { "What is recorded", options };

static const struct allo_option_group *const groups[] = { &group, &allo_telling_group, NULL };

static const struct allo_example examples[] = {
	{ "allo start 4711", "record the process from now on" },
	{ "allo start %redis-server -m sampled --duration 1m",
	  "a minute of it, at next to no cost" },
	{ "allo start 4711 -m counters", "no recording, only what 'allo stats' shows" },
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
	return allo_tell_process(&(struct allo_telling){ .common = &opt->common,
							 .name = names[0],
							 .request = &request,
							 .done = "recording",
							 .before_file = " to",
							 .state = "dormant" },
				 err);
}

const struct allo_command allo_cmd_start = {
	.name = "start",
	.heading = "Watch",
	.summary = "begin to record a process that runs",
	.arguments = "PID",
	.about =
		"Has a process that has the runtime in it begin to record: one that 'allo run "
		"--dormant' has started, one whose recording was stopped, or a program that is "
		"linked with the runtime. It need not be doing anything at the moment. Blocks from "
		"before are not in the recording, and freeing them is not counted.\n\n"
		"PID is the number of a process, the path of its socket, %NAME for the only one "
		"of a name, or all for all that are dormant: see 'allo ps'.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct start),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_start,
};
