/*
 * process_files.h - what the files of /proc/PID say of a process.
 *
 * Each function takes the lines of one file and fills in what it finds there.  What it does not
 * find, or is no number, stays as it was.
 */
#ifndef ALLO_TELEMETRY_PROCESS_FILES_H
#define ALLO_TELEMETRY_PROCESS_FILES_H

#include "telemetry/proc_reader.h"

#include <allo.h>

void allo_read_status(struct allo_proc_reader *reader, struct allo_process_memory *process);

/* What stat has besides; `start_ticks` is the moment it began, since the machine did. */
void allo_read_stat(struct allo_proc_reader *reader, uint64_t ticks_per_second,
		    struct allo_process_memory *process, uint64_t *start_ticks);
void allo_read_io(struct allo_proc_reader *reader, struct allo_process_memory *process);
void allo_read_limits(struct allo_proc_reader *reader, struct allo_process_memory *process);
void allo_read_smaps_rollup(struct allo_proc_reader *reader, struct allo_page_memory *pages);

/* "Key:   123", or "Key:   123 kB", into its parts; false when it is no such line. */
bool allo_take_number_line(struct allo_text line, struct allo_text *key, uint64_t *number);

/* Adds what may be unknown. */
uint64_t allo_known_sum(uint64_t one, uint64_t other);

#endif
