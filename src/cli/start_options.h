/*
 * start_options.h - the options of a recording of a running process: 'allo start', 'allo attach'.
 */
#ifndef ALLO_CLI_START_OPTIONS_H
#define ALLO_CLI_START_OPTIONS_H

#include "cli/common.h"
#include "wire/control_message.h"

/* The options of a command that starts recordings begin with this. */
struct allo_start_options {
	struct allo_common common;
	const char *output;
	int mode;
	bool stats, no_follow;
	uint64_t rate, stack_depth, min_size, max_file, duration_ns;
};

extern const struct allo_option_group allo_start_group;

/* Fails if recordings of the mode have no sampling interval, but one is given (not 0). */
bool allo_start_check_rate(const char *mode, uint64_t rate, struct allo_error *err);

/* Fails if options contradict each other. */
bool allo_start_options_check(const struct allo_start_options *options, struct allo_error *err);

/* Writes the request.  `pattern` is the path of the recording; NULL: the process chooses. */
void allo_start_options_request(const struct allo_start_options *options, const char *pattern,
				struct allo_message *request);

#endif
