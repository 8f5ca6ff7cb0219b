/* start_options.c - the table of options, and the request that they make. */
#include "cli/start_options.h"

#include "run/name_pattern.h"

#include <stdio.h>
#include <string.h>

/* "same" sends no mode: the process keeps the one that it was started with. */
static const char *const modes[] = { "same", "exact", "sampled", "events", "counters", NULL };

#define AT(field) offsetof(struct allo_start_options, field)
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

const struct allo_option_group allo_start_group = { "Recording", options };

bool allo_start_check_rate(const char *mode, uint64_t rate, struct allo_error *err)
{
	if (rate == 0 || (strcmp(mode, "exact") != 0 && strcmp(mode, "counters") != 0))
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
		  "--rate is the interval of a sampled recording: -m %s has none", mode);
	return allo_hint(err, "add -m sampled or -m events, or drop --rate");
}

bool allo_start_options_check(const struct allo_start_options *opt, struct allo_error *err)
{
	return allo_start_check_rate(modes[opt->mode], opt->rate, err);
}

static void add_number(struct allo_message *request, const char *key, uint64_t number)
{
	char digits[24];

	if (number == 0)
		return;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	allo_message_add(request, key, digits);
}

void allo_start_options_request(const struct allo_start_options *opt, const char *pattern,
				struct allo_message *request)
{
	allo_message_begin(request, "start");
	if (pattern)
		allo_message_add(request, "path", pattern);
	if (opt->mode > 0)
		allo_message_add(request, "mode", modes[opt->mode]);
	add_number(request, "rate", opt->rate);
	add_number(request, "min_size", opt->min_size);
	add_number(request, "stack_depth", opt->stack_depth);
	add_number(request, "duration_ns", opt->duration_ns);
	add_number(request, "max_file", opt->max_file);
	add_number(request, "stats", opt->stats);
	add_number(request, "no_follow", opt->no_follow);
	add_number(request, "gathers_children",
		   !opt->output || !allo_name_pattern_is_shared(opt->output));
	allo_message_end(request);
}
