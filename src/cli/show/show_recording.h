/*
 * show_recording.h - what a recording says about its run and about itself.
 */
#ifndef ALLO_CLI_SHOW_RECORDING_H
#define ALLO_CLI_SHOW_RECORDING_H

#include "replay/recording/marks.h"
#include "replay/summary.h"
#include "report/report.h"

/* "one in 524,288 bytes", of a sampled recording. */
enum { ALLO_SAMPLED_SIZE = 80 };
const char *allo_show_sampled(const struct allo_wire_sampling *sampling,
			      char out[ALLO_SAMPLED_SIZE]);

/* "1.6% of processor time, limit 2%; ...": the cost and the error with --max-overhead, else empty.
 */
enum { ALLO_OVERHEAD_SIZE = 240 };
const char *allo_show_overhead(const struct allo_summary *summary, char out[ALLO_OVERHEAD_SIZE]);

/* "in all 8,214,330 allocations of 412.7 MiB, 8,214,000 freed": what was seen, recorded or not.
 * Empty where the recording does not say. */
enum { ALLO_SEEN_SIZE = 200 };
const char *allo_show_seen(const struct allo_wire_sampling *sampling, bool is_plain,
			   char out[ALLO_SEEN_SIZE]);

/* The JSON member "sampling", of a sampled recording. */
void allo_report_field_sampling(struct allo_report *report, const struct allo_summary *summary);

/* The run and the quality of the recording: lines of `allo info`, and the JSON member
 * "recording". */
void allo_report_recording(struct allo_report *report, const struct allo_recording *recording,
			   const struct allo_summary *summary, const struct allo_marks *marks);

#endif
