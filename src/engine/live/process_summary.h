/*
 * process_summary.h - the totals of the recordings of several processes, the largest first.
 */
#ifndef ALLO_ENGINE_PROCESS_SUMMARY_H
#define ALLO_ENGINE_PROCESS_SUMMARY_H

#include "base/vec.h"
#include "replay/summary.h"

struct allo_process_summary {
	const char *path; /* the caller's */
	char program[64]; /* the name of its first argument, or of its file */
	uint32_t pid;     /* in its own namespace */
	uint64_t start_ns;
	/* Among recordings with this name and pid, by their starts, from 1: a process may execute
	 * the same program again.  0 before allo_process_summaries_sort(), and if there is one. */
	unsigned number;
	struct allo_summary totals;
};

/* "cargo (2446)" or, if there are several of them, "cargo (2446), first program". */
enum { ALLO_PROCESS_NAME_SIZE = 112 };
const char *allo_process_summary_name(const struct allo_process_summary *process,
				      char out[ALLO_PROCESS_NAME_SIZE]);

/* All zeros is empty. */
struct allo_process_summaries {
	ALLO_VEC(struct allo_process_summary) all;
};

/* Reads a recording, and adds it.  `progress` may be NULL. */
bool allo_process_summaries_add(struct allo_process_summaries *summaries, const char *path,
				const struct allo_progress *progress, struct allo_error *err);

/* Sorts them by their peaks. */
void allo_process_summaries_sort(struct allo_process_summaries *summaries);

void allo_process_summaries_done(struct allo_process_summaries *summaries);

#endif
