/*
 * process_files.h - parsers for the files of /proc/PID.
 *
 * Each function reads one file and sets the fields it finds.  Fields that are missing or malformed
 * keep their value.
 */
#ifndef ALLO_TELEMETRY_PROCESS_FILES_H
#define ALLO_TELEMETRY_PROCESS_FILES_H

#include "telemetry/proc_reader.h"

#include <allo.h>

void allo_read_status(struct allo_proc_reader *reader, struct allo_process_memory *process);

/* `start_ticks` is the start of the process, in clock ticks since boot. */
void allo_read_stat(struct allo_proc_reader *reader, uint64_t ticks_per_second,
		    struct allo_process_memory *process, uint64_t *start_ticks);
void allo_read_io(struct allo_proc_reader *reader, struct allo_process_memory *process);
void allo_read_limits(struct allo_proc_reader *reader, struct allo_process_memory *process);
void allo_read_smaps_rollup(struct allo_proc_reader *reader, struct allo_page_memory *pages);

/* Splits "Key:   123" or "Key:   123 kB"; false for other lines. */
bool allo_take_number_line(struct allo_text line, struct allo_text *key, uint64_t *number);

/* The sum; ALLO_UNKNOWN if either is unknown. */
uint64_t allo_known_sum(uint64_t one, uint64_t other);

#endif
