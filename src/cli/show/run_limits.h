/*
 * run_limits.h - the limits of 'allo run --max-peak' and its relatives.
 *
 * They are checked by 'allo budget' after the program has ended, on all recordings of the run
 * together.
 */
#ifndef ALLO_CLI_RUN_LIMITS_H
#define ALLO_CLI_RUN_LIMITS_H

#include "base/error.h"
#include "cli/show/run_report.h"

#define ALLO_NO_LIMIT UINT64_MAX

struct allo_run_limits {
	uint64_t peak, total, blocks, leaks;
};

bool allo_run_limits_exist(const struct allo_run_limits *limits);

/* Prints each limit with the measured number on standard error; ALLO_UNMET if one is exceeded. */
bool allo_run_limits_check(const struct allo_run_limits *limits, const struct allo_run_job *job,
			   struct allo_error *err);

#endif
