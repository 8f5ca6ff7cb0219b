/*
 * coverage.h - how much of the resident memory of a process its recorded blocks explain.
 */
#ifndef ALLO_REPLAY_COVERAGE_H
#define ALLO_REPLAY_COVERAGE_H

#include "replay/summary.h"

/* "malloc held 5.04 MiB of 124.6 MiB resident at the peak; the program mapped 95.2 MiB itself
 * (...)". Empty if the resident memory is unknown. */
enum { ALLO_COVERAGE_SIZE = 400 };
const char *allo_coverage_text(const struct allo_summary *summary, bool is_plain,
			       char out[ALLO_COVERAGE_SIZE]);

/* The peak of the resident memory, without that of the recorder. */
uint64_t allo_coverage_resident(const struct allo_resident *resident);

#endif
