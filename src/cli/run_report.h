/*
 * run_report.h - what is done and said when a program that was recorded has ended.
 */
#ifndef ALLO_CLI_RUN_REPORT_H
#define ALLO_CLI_RUN_REPORT_H

#include "run/launch.h"
#include "run/recordings.h"

struct allo_run_report {
	const char *name; /* what the user calls the program */
	const struct allo_launch *launch;
	const char *output; /* the recording's name, where it was known beforehand; else NULL */
	uint64_t delay_ns;
	bool is_dormant;     /* nothing was to be recorded before somebody says so */
	bool defines_malloc; /* the program has an allocator of its own */
	struct allo_recordings *recordings;
	bool only_counts; /* there are statistics, and no recordings */
	bool keeps_raw;   /* recordings stay as they were written */
	bool is_quiet;
};

/* How the program ended. */
void allo_run_report_end(const struct allo_run_report *report);

/* Packs the recordings, and says what is in them and where they are.  Errors are said as well: the
 * program has run, and what it has come to is the result. */
void allo_run_report_recordings(const struct allo_run_report *report);

#endif
