/*
 * run_report.h - the report of 'allo run' after the program has ended.
 *
 * Failures are reported but do not change the exit status, which is that of the program.
 */
#ifndef ALLO_CLI_RUN_REPORT_H
#define ALLO_CLI_RUN_REPORT_H

#include "run/launch.h"
#include "run/recordings.h"

/* A program that was run, and the recordings of its processes. */
struct allo_run_job {
	const char *name; /* of the program, as the user typed it */
	struct allo_launch launch;
	struct allo_recordings recordings;
	char *output;        /* path of the program's recording, if known beforehand; else NULL */
	bool gathers;        /* several recordings belong into one directory */
	bool has_only;       /* --only selects programs */
	char *family;        /* the directory; NULL: none.  Set by allo_run_report_recordings() */
	bool defines_malloc; /* the program contains an allocator */
	bool is_quiet, stays_raw, gets_index, is_dormant, only_counts;
	uint64_t delay_ns;
};

/* Prints how the program ended. */
void allo_run_report_status(const struct allo_run_job *job);

/* Packs the recordings, and prints their contents and losses. */
void allo_run_report_recordings(struct allo_run_job *job);

#endif
