/*
 * convert_job.h - conversions as commands run them: options, signals, and a report on standard
 * error.
 */
#ifndef ALLO_CLI_CONVERT_JOB_H
#define ALLO_CLI_CONVERT_JOB_H

#include "cli/common.h"
#include "engine/convert.h"

/* Options of commands that write a profile; such a command's own options begin with them. */
struct allo_convert_options {
	struct allo_common common;
	struct allo_list metrics;
	const char *output, *to;
	bool force;
};

extern const struct allo_option_group allo_convert_group;

/* Must not move once it is run. */
struct allo_convert_job {
	struct allo_conversion conversion; /* .source and .filter are set by the run */
	const struct allo_common *common;
	bool passes_through; /* copy the input to standard output */

	/* Result. */
	bool is_stopped; /* a signal ended the input */
	int copy_error;  /* errno of the copy's failure, or 0 */
};

/* Prepares the conversion that the options describe.  Fails if they name no format. */
bool allo_convert_job_init(struct allo_convert_job *job, const struct allo_convert_options *options,
			   char **files, struct allo_error *err);

bool allo_convert_job_run(struct allo_convert_job *job, struct allo_error *err);

/* Prints the result, and the data that the format could not hold, on standard error. */
void allo_convert_job_report(const struct allo_convert_job *job);

/* The writer by its name or by the output's name, unless it would write bytes to a terminal. */
const struct allo_writer *allo_convert_writer(const char *to, const char *output,
					      struct allo_error *err);

/* A note about data that the format cannot hold (ALLO_HOLDS_...), if there is any. */
void allo_note_lost(const struct allo_writer *writer, unsigned lost);

/* A note if the sum of each site's own maximum exceeds the program's peak. */
void allo_note_max(const struct allo_conversion *conversion);

#endif
