/*
 * heap_counts.h - what a process has allocated and holds now, in six numbers.
 */
#ifndef ALLO_CLI_HEAP_COUNTS_H
#define ALLO_CLI_HEAP_COUNTS_H

#include "base/json_write.h"
#include "watch/recorded_process.h"

struct allo_heap_counts {
	uint64_t total_blocks, total_bytes; /* ever allocated */
	uint64_t live_blocks, live_bytes;
	uint64_t peak_blocks, peak_bytes; /* live when most bytes were */
	bool is_estimated;
};

/* As the process itself has counted; fails where it does not. */
bool allo_heap_counts_ask(const struct allo_recorded_process *process,
			  struct allo_heap_counts *counts, struct allo_error *err);

/* As its recording adds up to, up to now: of a process that is recorded. */
bool allo_heap_counts_replay(struct allo_recorded_processes *list,
			     const struct allo_recorded_process *process,
			     struct allo_heap_counts *counts, struct allo_error *err);

/* Members of an object. */
void allo_heap_counts_json(struct allo_json_out *json, const struct allo_heap_counts *counts);

#endif
